import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import type { LLMProfile, LLMProfileInput, LLMProfileList } from '@/api/types'

export const profileKeys = { all: ['profiles'] as const }

const path = (name: string, action = '') =>
  `/api/v1/settings/profiles/${encodeURIComponent(name)}${action && `/${action}`}`

/** All model profiles of the user, and the name of the active profile. */
export function profilesQuery() {
  return queryOptions({
    queryKey: profileKeys.all,
    queryFn: ({ signal }) => request<LLMProfileList>('/api/v1/settings/profiles', { signal }),
  })
}

/**
 * Returns the profiles that agents may call. If an administrator enforces a model, this is only its profile.
 */
export function callableProfiles({ profiles, callable_profiles: names }: LLMProfileList) {
  return profiles.filter(({ name }) => names.includes(name))
}

export interface SaveProfileVariables {
  name: string
  /** The stored name of an existing profile that is edited. */
  previousName?: string
  llm: LLMProfileInput
}

/**
 * Creates or replaces a profile. Renames the profile first if its name changed. The form shows the errors.
 */
export function useSaveProfile() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: async ({ name, previousName, llm }: SaveProfileVariables) => {
      if (previousName && previousName !== name) {
        await request<unknown>(path(previousName, 'rename'), { method: 'POST', body: { new_name: name } })
      }
      return request<LLMProfile>(path(name), { method: 'POST', body: { llm } })
    },
    onSettled: () => queryClient.invalidateQueries({ queryKey: profileKeys.all }),
    meta: { errorShownInline: true },
  })
}

export function useDeleteProfile() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (name: string) => request<unknown>(path(name), { method: 'DELETE' }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: profileKeys.all }),
  })
}

export interface ShareProfileVariables {
  name: string
  isShared: boolean
}

/** Shares a profile with everyone, or stops sharing it. Only administrators may do this. */
export function useShareProfile() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: ({ name, isShared }: ShareProfileVariables) =>
      request<unknown>(`/api/v1/settings/shared-profiles/${encodeURIComponent(name)}`, {
        method: isShared ? 'PUT' : 'DELETE',
      }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: profileKeys.all }),
  })
}

export function useActivateProfile() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (name: string) => request<unknown>(path(name, 'activate'), { method: 'POST' }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: profileKeys.all }),
  })
}
