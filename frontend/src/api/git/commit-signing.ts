import type { Schemas } from '@/api/schema'
import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'

const ROOT = '/api/v1/settings/commit-signing'

/** The settings of commit signing. The key is null until signing was turned on for the first time. */
export type CommitSigning = Schemas['CommitSigning']

export function commitSigningQuery() {
  return queryOptions({
    queryKey: ['commit-signing'],
    queryFn: ({ signal }) => request<CommitSigning>(ROOT, { signal }),
  })
}

/** Turns commit signing on or off. The panel shows the errors. */
export function useSetCommitSigning() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (is_on: boolean) => request<CommitSigning>(ROOT, { method: 'PUT', body: { is_on } }),
    onSuccess: (signing) => queryClient.setQueryData(commitSigningQuery().queryKey, signing),
    meta: { errorShownInline: true },
  })
}

export function useReplaceSigningKey() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: () => request<CommitSigning>(`${ROOT}/new-key`, { method: 'POST' }),
    onSuccess: (signing) => queryClient.setQueryData(commitSigningQuery().queryKey, signing),
  })
}

/**
 * Whether the user's account at the git host has verified the e-mail address of commits. The app server asks
 * the host. Null means that the host does not say.
 */
export function commitAddressQuery(host: string, email: string) {
  return queryOptions({
    queryKey: ['commit-signing', 'address', host, email],
    queryFn: ({ signal }) =>
      request<Schemas['CommitAddress']>(`${ROOT}/hosts/address`, { signal, query: { host } }),
    staleTime: 60_000,
    retry: false,
  })
}

/** Adds the key to the user's account at a git host. The panel shows the errors. */
export function useAddSigningKey() {
  return useMutation({
    mutationFn: (host: string) =>
      request<Schemas['AddedSigningKey']>(`${ROOT}/hosts`, { method: 'POST', body: { host } }),
    meta: { errorShownInline: true },
  })
}
