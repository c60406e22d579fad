import { infiniteQueryOptions, queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from './client'
import { networkKeys, type Occupant } from './network'

const ROOT = '/api/v1/settings/network/credentials'

/** Whose calls get a credential: this user's, those of one repository's tasks, or everybody's here. */
export const CREDENTIAL_SCOPES = ['user', 'repository', 'server'] as const
export type CredentialScope = (typeof CREDENTIAL_SCOPES)[number]

/** How it is shown to the host. */
export const CREDENTIAL_KINDS = ['bearer', 'basic', 'header'] as const
export type CredentialKind = (typeof CREDENTIAL_KINDS)[number]

/** What is added to calls of one https host. Its value is never sent to a browser. */
export interface NetworkCredential {
  id: string
  host: string
  port: number
  /** Empty: all paths. */
  path_prefix: string
  scope: CredentialScope
  repository: string | null
  kind: CredentialKind
  username: string
  header: string
  /** Whether this user may replace and remove it. */
  is_own: boolean
  /** Whether sandboxes may call the host at all. */
  is_allowed: boolean
  last_used_at: string | null
  updated_at: string
}

export interface NetworkCredentialInput {
  host: string
  port: number
  path_prefix: string
  scope: CredentialScope
  repository: string | null
  kind: CredentialKind
  username: string
  header: string
  /** Write-only. */
  value: string
  /** Also lets sandboxes call the host. */
  allow: boolean
}

/** One request that a credential was added to. */
export interface NetworkCredentialUse {
  id: string
  sandbox_id: string
  /** Any of these may have made it. */
  conversations: Occupant[]
  method: string
  path: string
  at: string
}

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
