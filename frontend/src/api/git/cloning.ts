import { useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import { type EffectiveSetting, levelKeys, type SettingValue } from '@/api/people/levels'
import type { Schemas } from '@/api/schema'

export type CloneMode = Schemas['CloneMode']
export const CLONE_MODES = ['full', 'shallow', 'blobless'] as const satisfies readonly CloneMode[]

/** What the server does if no level sets a value. */
const SERVER_DEFAULTS = { clone: 'full', submodules: true } as const

export type CloneSettingName = keyof typeof SERVER_DEFAULTS

export interface CloneSetting {
  /** The value that holds. */
  value: SettingValue
  /** The user's value; null if the user has none that holds. */
  own: SettingValue | null
  /** The value without the user's one. */
  inherited: SettingValue
  isEnforced: boolean
}

/** The value that decides what starts fetch, and where it comes from. */
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

/** Sets the user's values; null deletes one. Holds for conversations that are started from now on. */
export function useSaveCloning() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (changes: { clone?: CloneMode | null; submodules?: boolean | null }) =>
      request<unknown>('/api/v1/settings', { method: 'POST', body: changes }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: levelKeys.own }),
    meta: { errorShownInline: true },
  })
}
