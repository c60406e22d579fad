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

/** Repositories of the user at one host whose name holds the text; without text, those changed last. */
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

/** Branches of a repository, given by its full name at the host, whose name holds the text. */
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

/** The tasks that wait for the user at all git hosts, and the hosts that could not be asked. */
export function suggestedTasksQuery() {
  return queryOptions({
    queryKey: ['git-search', 'tasks'] as const,
    queryFn: ({ signal }) =>
      request<Schemas['SuggestedTaskPage']>(`${ROOT}/suggested-tasks/search`, { signal }),
    staleTime: FRESH_MS,
    retry: false,
  })
}
