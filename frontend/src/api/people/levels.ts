import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import { confirmationKeys } from '@/api/approval/confirmation'
import { profileKeys } from '@/api/models/profiles'
import type { Schemas } from '@/api/schema'

/** A setting of the current user: the value in effect, and the level that it comes from. */
export type EffectiveSetting = Schemas['EffectiveSetting']
/** A value of the organisation or of a team, and the people who override it. */
export type AdministeredValue = Schemas['AdministeredValue']
export type SettingName = Schemas['SettingName']
export type SettingValue = AdministeredValue['value']

const SETTINGS = '/api/v1/settings/levels'
const ADMINISTRATION = '/api/v1/administration/settings'

export const levelKeys = {
  own: ['setting-levels'] as const,
  all: ['administration', 'settings'] as const,
}

/** The values of settings that are in effect for the current user, and the levels that they come from. */
export function effectiveSettingsQuery() {
  return queryOptions({
    queryKey: levelKeys.own,
    queryFn: ({ signal }) => request<EffectiveSetting[]>(SETTINGS, { signal }),
  })
}

/** All values of the organisation and of teams. Only administrators may read them. */
export function administeredSettingsQuery() {
  return queryOptions({
    queryKey: levelKeys.all,
    queryFn: ({ signal }) => request<AdministeredValue[]>(ADMINISTRATION, { signal }),
  })
}

/** The owner of a value: a team or a person, or the organisation if both are null. */
export interface LevelOwner {
  teamId: string | null
  userId: string | null
}

export interface ValueAtLevel extends LevelOwner {
  name: SettingName
}

export interface SaveValueVariables extends ValueAtLevel {
  value: SettingValue
  enforced: boolean
}

function path({ name, teamId, userId }: ValueAtLevel) {
  const person = userId === null ? 'organisation' : `people/${userId}`
  return `${ADMINISTRATION}/${teamId === null ? person : `teams/${teamId}`}/${name}`
}

/** Sets a value for the organisation or a team. The form shows the errors. */
export function useSaveValue() {
  const refresh = useRefreshed()
  return useMutation({
    mutationFn: ({ value, enforced, ...at }: SaveValueVariables) =>
      request<unknown>(path(at), { method: 'PUT', body: { value, enforced } }),
    onSuccess: refresh,
    meta: { errorShownInline: true },
  })
}

export function useDeleteValue() {
  const refresh = useRefreshed()
  return useMutation({
    mutationFn: (at: ValueAtLevel) => request<void>(path(at), { method: 'DELETE' }),
    onSuccess: refresh,
  })
}

/** Loads the administrator's settings again, because the change may affect them, too. */
function useRefreshed() {
  const queryClient = useQueryClient()
  return () =>
    Promise.all(
      [levelKeys.all, levelKeys.own, confirmationKeys.settings, profileKeys.all, ['sandbox-grouping']].map(
        (queryKey) => queryClient.invalidateQueries({ queryKey }),
      ),
    )
}
