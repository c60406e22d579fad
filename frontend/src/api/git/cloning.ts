import { useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import { type EffectiveSetting, levelKeys, type SettingValue } from '@/api/people/levels'
import type { Schemas } from '@/api/schema'

export type CloneMode = Schemas['CloneMode']
export const CLONE_MODES = ['full', 'shallow', 'blobless'] as const satisfies readonly CloneMode[]

/** The values that the app server uses if no level sets a value. */
const SERVER_DEFAULTS = { clone: 'full', submodules: true } as const

export type CloneSettingName = keyof typeof SERVER_DEFAULTS

export interface CloneSetting {
  /** The value that is in effect. */
  value: SettingValue
  /** The user's value. Null if the user has no value, or if another level's value is in effect. */
  own: SettingValue | null
  /** The value that is in effect if the user's value is removed. */
  inherited: SettingValue
  isEnforced: boolean
}

/**
 * Returns the value that decides what the start of a conversation fetches, and where the value comes from.
 */
export function cloneSetting(levels: EffectiveSetting[] | undefined, name: CloneSettingName): CloneSetting {
  const found = levels?.find((setting) => setting.name === name)
  const value = found?.value ?? SERVER_DEFAULTS[name]
  const isOwn = found?.level === 'user'
  return {
    value,
    own: isOwn ? value : null,
    inherited: isOwn ? (found.overridden[0]?.value ?? SERVER_DEFAULTS[name]) : value,
    isEnforced: found?.enforced ?? false,
  }
}

/** Sets the user's values. Null deletes a value. The values apply to conversations that start later. */
export function useSaveCloning() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (changes: { clone?: CloneMode | null; submodules?: boolean | null }) =>
      request<unknown>('/api/v1/settings', { method: 'POST', body: changes }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: levelKeys.own }),
    meta: { errorShownInline: true },
  })
}
