import { queryOptions } from '@tanstack/react-query'
import { request } from '@/api/client'
import type { GitCredential } from './git-credentials'
import type { Schemas } from '@/api/schema'

export type FoundRepository = Schemas['Repository']
export type FoundBranch = Schemas['Branch']
export type SuggestedTask = Schemas['SuggestedTaskInfo']

const ROOT = '/api/v1/git'
const SHOWN = 8
const FRESH_MS = 60_000

type Host = Pick<GitCredential, 'host' | 'provider'>
interface Found<Item> {
  items: Item[]
}

/**
 * The user's repositories at one host whose names contain the text. Without a text: the repositories that
 * changed last.
 */
export function repositoriesQuery({ host, provider }: Host, text: string) {
  return queryOptions({
    queryKey: ['git-search', 'repositories', host, text] as const,
    queryFn: ({ signal }) =>
      request<Found<FoundRepository>>(`${ROOT}/repositories/search`, {
        query: { provider, host, query: text || undefined, limit: SHOWN },
        signal,
      }).then((page) => page.items),
    staleTime: FRESH_MS,
    retry: false,
  })
}

/** The branches of a repository whose names contain the text. `repository` is the full name at the host. */
export function branchesQuery({ host, provider }: Host, repository: string, text: string) {
  return queryOptions({
    queryKey: ['git-search', 'branches', host, repository, text] as const,
    queryFn: ({ signal }) =>
      request<Found<FoundBranch>>(`${ROOT}/branches/search`, {
        query: { provider, host, repository, query: text, limit: SHOWN },
        signal,
      }).then((page) => page.items),
    staleTime: FRESH_MS,
    retry: false,
  })
}

/** The suggested tasks at all git hosts of the user, and the hosts that could not be asked. */
export function suggestedTasksQuery() {
  return queryOptions({
    queryKey: ['git-search', 'tasks'] as const,
    queryFn: ({ signal }) =>
      request<Schemas['SuggestedTaskPage']>(`${ROOT}/suggested-tasks/search`, { signal }),
    staleTime: FRESH_MS,
    retry: false,
  })
}
