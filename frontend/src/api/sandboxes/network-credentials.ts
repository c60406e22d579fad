import type { Schemas, Sent } from '@/api/schema'
import { infiniteQueryOptions, queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import { networkKeys } from './network'

const ROOT = '/api/v1/settings/network/credentials'

/** Whose calls get a credential: those of this user, of one repository's tasks, or of all users here. */
export const CREDENTIAL_SCOPES = ['user', 'repository', 'server'] as const
export type CredentialScope = (typeof CREDENTIAL_SCOPES)[number]

/** How a credential is sent to the host. */
export const CREDENTIAL_KINDS = ['bearer', 'basic', 'header'] as const
export type CredentialKind = (typeof CREDENTIAL_KINDS)[number]

/**
 * What is added to calls of one https host. Its value is never sent to a browser.
 * `path_prefix`: empty: all paths.
 * `is_own`: whether this user may replace and remove it.
 * `is_allowed`: whether sandboxes may call the host at all.
 */
export type NetworkCredential = Schemas['NetworkCredential']

/** `value` is write-only. `allow`: also lets sandboxes call the host. */
export type NetworkCredentialInput = Sent<Schemas['SaveNetworkCredential']>

/**
 * One request that a credential was added to.
 * `conversations`: any of these may have made it.
 */
export type NetworkCredentialUse = Schemas['NetworkCredentialUse']

const credentialKeys = {
  all: ['network-credentials'] as const,
  uses: (id: string) => ['network-credentials', id, 'uses'] as const,
}

export function networkCredentialsQuery() {
  return queryOptions({
    queryKey: credentialKeys.all,
    queryFn: ({ signal }) => request<NetworkCredential[]>(ROOT, { signal }),
  })
}

/** The latest first. */
export function networkCredentialUsesQuery(id: string) {
  return infiniteQueryOptions({
    queryKey: credentialKeys.uses(id),
    queryFn: ({ signal, pageParam }) =>
      request<{ items: NetworkCredentialUse[]; next_page_id: string | null }>(
        `${ROOT}/${id}/uses?limit=20${pageParam ? `&page_id=${encodeURIComponent(pageParam)}` : ''}`,
        { signal },
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_page_id,
  })
}

/** Adds it, or replaces that of the same place. It may have put the host on a list. The form shows the errors. */
export function useSaveNetworkCredential() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (body: NetworkCredentialInput) => request<NetworkCredential>(ROOT, { method: 'POST', body }),
    onSuccess: () =>
      Promise.all([
        queryClient.invalidateQueries({ queryKey: credentialKeys.all }),
        queryClient.invalidateQueries({ queryKey: networkKeys.settings }),
      ]),
    meta: { errorShownInline: true },
  })
}

export function useDeleteNetworkCredential() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (id: string) => request<unknown>(`${ROOT}/${id}`, { method: 'DELETE' }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: credentialKeys.all }),
  })
}
