import type { Schemas } from './schema'
import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from './client'

const ROOT = '/api/v1/settings/git-credentials'

/** Which branches agents may push to: those that their conversation made, or any. */
export const PUSH_SCOPES = ['own', 'any'] as const
export type PushScope = (typeof PUSH_SCOPES)[number]

/** A token for a git host. It is never sent to a browser. */
export type GitCredential = Schemas['GitCredentialInfo']

export interface GitCredentialInput {
  host: string
  /** Write-only. */
  token: string
  /** Empty: what most hosts take beside a token. */
  username: string
  push_scope: PushScope
}

export const gitCredentialKeys = { all: ['git-credentials'] as const }

/** Hosts only: tokens never come back. */
export function gitCredentialsQuery() {
  return queryOptions({
    queryKey: gitCredentialKeys.all,
    queryFn: ({ signal }) => request<GitCredential[]>(ROOT, { signal }),
  })
}

/** Adds a token, or replaces the one of the same host. The form shows the errors. */
export function useSaveGitCredential() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (given: GitCredentialInput) => request<GitCredential>(ROOT, { method: 'POST', body: given }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: gitCredentialKeys.all }),
    meta: { errorShownInline: true },
  })
}

export function useChangePushScope() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: ({ id, push_scope }: Pick<GitCredential, 'id' | 'push_scope'>) =>
      request<GitCredential>(`${ROOT}/${id}`, { method: 'PATCH', body: { push_scope } }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: gitCredentialKeys.all }),
  })
}

export function useDeleteGitCredential() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (id: string) => request<unknown>(`${ROOT}/${id}`, { method: 'DELETE' }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: gitCredentialKeys.all }),
  })
}
