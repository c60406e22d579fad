import type { Schemas, Sent } from '@/api/schema'
import { infiniteQueryOptions, queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import { networkKeys } from './network'

const ROOT = '/api/v1/settings/network/credentials'

/**
 * The calls that get a credential: calls of this user, calls of one repository's tasks, or calls of all users
 * of this server.
 */
export const CREDENTIAL_SCOPES = ['user', 'repository', 'server'] as const
export type CredentialScope = (typeof CREDENTIAL_SCOPES)[number]

/** How a credential is sent to the host. */
export const CREDENTIAL_KINDS = ['bearer', 'basic', 'header'] as const
export type CredentialKind = (typeof CREDENTIAL_KINDS)[number]

/**
 * A credential that is added to calls of one https host. The app server never sends its value to a browser.
 * An empty `path_prefix` means all paths. `is_own` is true if this user may replace and remove the
 * credential. `is_allowed` is true if sandboxes may call the host.
 */
export type NetworkCredential = Schemas['NetworkCredential']

/** The data to save. The app server never returns `value`. `allow` also allows sandboxes to call the host. */
export type NetworkCredentialInput = Sent<Schemas['SaveNetworkCredential']>

/**
 * One request that got a credential. One of `conversations` made the request, but it is not known which one.
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

/** The uses of a credential, the latest first. */
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

/**
 * Adds a credential, or replaces the credential with the same scope, host, port and path. This can also add
 * the host to a list of allowed hosts. The form shows the errors.
 */
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
