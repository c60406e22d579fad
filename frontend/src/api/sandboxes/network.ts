import type { Schemas } from '@/api/schema'
import {
  infiniteQueryOptions,
  keepPreviousData,
  queryOptions,
  useMutation,
  useQueryClient,
} from '@tanstack/react-query'
import { request } from '@/api/client'

/** What sandboxes may call: nothing, the hosts on a list, or all public hosts. */
export const NETWORK_MODES = ['none', 'allowlist', 'open'] as const
export type NetworkMode = (typeof NETWORK_MODES)[number]

/**
 * A host that was refused. `client` is the name that the calling program gives itself, and may be empty.
 * `is_allowable` is true if the user alone can allow the host.
 */
export type RefusedHost = Schemas['RefusedHost']

export type RefusalReason =
  | 'network_off'
  | 'not_allowed'
  | 'denied'
  | 'bad_host'
  | 'private_address'
  | 'unknown_host'
  | 'unreachable'
  | 'other_name'
  | 'not_tls'
  | 'not_trusted'
  | 'bad_certificate'
  | 'upstream_refused'
  | 'git_write'
  | 'foreign_credential'

/**
 * The network of one conversation. `repository` is the repository that an answer can be stored for. `allowed`
 * are the hosts that were allowed for this conversation only. `refused` are the hosts that wait for an
 * answer, the latest first.
 */
export type ConversationNetwork = Schemas['ConversationNetwork']

export type NetworkAnswer = Schemas['AnswerNetwork']

export type RepositoryNetwork = Schemas['RepositoryNetwork']

/**
 * If `mode` is null, `default_mode` applies. `default_hosts` are the hosts that are allowed for all users.
 * `is_enforced` is true if sandboxes of this server cannot reach the network in another way.
 */
export type NetworkSettings = Schemas['NetworkSettings']

/** A conversation that was in a sandbox when something happened there. */
export type SandboxConversation = Schemas['OccupantInfo']

/**
 * The calls of one sandbox to one host within one hour. `reason` is the reason of a refusal, or null if there
 * was none. One of `conversations` made the calls, but it is not known which one.
 */
export type NetworkRecord = Schemas['NetworkRecord']

const ROOT = '/api/v1/settings/network'
export const networkKeys = { settings: ['network-settings'] as const, records: ['network-records'] as const }
const path = (id: string) => `/api/v1/app-conversations/${encodeURIComponent(id)}/network`
const conversationKey = (id: string) => ['conversation-network', id] as const

/**
 * `reports` is the number of newly refused requests that the stream has reported. Each report loads the data
 * again.
 */
export function conversationNetworkQuery(id: string, reports: number) {
  return queryOptions({
    queryKey: [...conversationKey(id), reports],
    queryFn: ({ signal }) => request<ConversationNetwork>(path(id), { signal }),
    placeholderData: keepPreviousData,
  })
}

/**
 * Answers a refused request. The next attempt of the sandbox follows the answer. The strip shows the errors.
 */
export function useAnswerNetwork(id: string) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (body: NetworkAnswer) =>
      request<ConversationNetwork>(`${path(id)}/answer`, { method: 'POST', body }),
    onSuccess: (answered) => {
      queryClient.setQueriesData({ queryKey: conversationKey(id) }, answered)
      return queryClient.invalidateQueries({ queryKey: networkKeys.settings })
    },
    meta: { errorShownInline: true },
  })
}

export function networkSettingsQuery() {
  return queryOptions({
    queryKey: networkKeys.settings,
    queryFn: ({ signal }) => request<NetworkSettings>(ROOT, { signal }),
  })
}

export function useSetNetwork() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (body: { mode: NetworkMode | null; hosts: string[] }) =>
      request<NetworkSettings>(ROOT, { method: 'PUT', body }),
    onSuccess: (settings) => queryClient.setQueryData(networkKeys.settings, settings),
    meta: { errorShownInline: true },
  })
}

export function useSetRepositoryNetwork() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (body: RepositoryNetwork) =>
      request<RepositoryNetwork>(`${ROOT}/repositories`, { method: 'PUT', body }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: networkKeys.settings }),
    meta: { errorShownInline: true },
  })
}

export function useForgetRepositoryNetwork() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (repository: string) =>
      request<unknown>(`${ROOT}/repositories?repository=${encodeURIComponent(repository)}`, {
        method: 'DELETE',
      }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: networkKeys.settings }),
  })
}

/** The calls of the user's sandboxes, the latest first. */
export function networkRecordsQuery() {
  return infiniteQueryOptions({
    queryKey: networkKeys.records,
    queryFn: ({ signal, pageParam }) =>
      request<{ items: NetworkRecord[]; next_page_id: string | null }>(
        `${ROOT}/records?limit=50${pageParam ? `&page_id=${encodeURIComponent(pageParam)}` : ''}`,
        { signal },
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_page_id,
  })
}
