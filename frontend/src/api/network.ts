import {
  infiniteQueryOptions,
  keepPreviousData,
  queryOptions,
  useMutation,
  useQueryClient,
} from '@tanstack/react-query'
import { request } from './client'

/** What sandboxes may call: nothing, the hosts on a list, or everything that is public. */
export const NETWORK_MODES = ['none', 'allowlist', 'open'] as const
export type NetworkMode = (typeof NETWORK_MODES)[number]

export interface RefusedHost {
  host: string
  port: number
  reason: RefusalReason
  /** The program, as it calls itself; may be empty. */
  client: string
  count: number
  last_at: string
  /** Whether the user's word is all it takes. */
  is_allowable: boolean
}

export type RefusalReason =
  | 'network_off'
  | 'not_allowed'
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

export interface ConversationNetwork {
  mode: NetworkMode
  /** What an answer can be remembered for. */
  repository: string | null
  /** Hosts that were allowed for this conversation alone. */
  allowed: string[]
  /** What waits for an answer, the latest first. */
  refused: RefusedHost[]
}

export interface NetworkAnswer {
  host: string
  port: number
  answer: 'conversation' | 'repository' | 'ignore'
}

export interface RepositoryNetwork {
  repository: string
  mode: NetworkMode | null
  hosts: string[]
}

export interface NetworkSettings {
  /** null: what `default_mode` says. */
  mode: NetworkMode | null
  default_mode: NetworkMode
  hosts: string[]
  /** Listed for everybody. */
  default_hosts: string[]
  repositories: RepositoryNetwork[]
  /** Whether sandboxes here have no other way out. */
  is_enforced: boolean
}

/** A conversation that was in a sandbox when something happened there. */
export interface Occupant {
  id: string
  title: string | null
}

/** What one sandbox tried to reach within one hour. `reason`: why it was refused; null: it was not. */
export interface NetworkRecord {
  id: string
  sandbox_id: string
  /** Any of these may have tried it. */
  conversations: Occupant[]
  host: string
  port: number
  reason: RefusalReason | null
  client: string
  count: number
  bytes_sent: number
  bytes_received: number
  first_at: string
  last_at: string
}

const ROOT = '/api/v1/settings/network'
export const networkKeys = { settings: ['network-settings'] as const, records: ['network-records'] as const }
const path = (id: string) => `/api/v1/app-conversations/${encodeURIComponent(id)}/network`
const conversationKey = (id: string) => ['conversation-network', id] as const

/** `told`: how often the stream has said that something new was refused. */
export function conversationNetworkQuery(id: string, told: number) {
  return queryOptions({
    queryKey: [...conversationKey(id), told],
    queryFn: ({ signal }) => request<ConversationNetwork>(path(id), { signal }),
    placeholderData: keepPreviousData,
  })
}

/** The next attempt goes by it. The strip shows the errors. */
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

/** What the user's sandboxes tried to reach, the latest first. */
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
