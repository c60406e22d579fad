import type { Schemas } from '@/api/schema'
import { queryOptions } from '@tanstack/react-query'
import { request, requestText } from '@/api/client'
import type { GitChange, GitDiff } from '@/api/types'

const root = (id: string) => `/api/v1/app-conversations/${id}/git`

/**
 * `all(id)` covers every query of one conversation. It must be invalidated when the agent has changed files.
 */
export const gitChangeKeys = {
  all: (id: string) => ['git-changes', id] as const,
  list: (id: string) => ['git-changes', id, 'list'] as const,
  diff: (id: string, path: string) => ['git-changes', id, 'diff', path] as const,
  pushes: (id: string) => ['git-changes', id, 'pushes'] as const,
  patch: (id: string, repository: string | null) => ['git-changes', id, 'patch', repository] as const,
}

/**
 * One ref of a push to the git host. A commit of zeros means that the ref did not exist before, or does not
 * exist now. `outcome` is `refused` if the app server refused the push, `rejected` if the host rejected it,
 * and `unknown` if the connection ended before the host answered.
 */
export type GitPush = Schemas['GitPushInfo']

/** The pushes of a conversation, the newest first. */
export function gitPushesQuery(id: string) {
  return queryOptions({
    queryKey: gitChangeKeys.pushes(id),
    queryFn: ({ signal }) => request<GitPush[]>(`${root(id)}/pushes`, { signal }),
  })
}

/** The files that differ from the state at the beginning of the conversation. */
export function gitChangesQuery(id: string) {
  return queryOptions({
    queryKey: gitChangeKeys.list(id),
    queryFn: ({ signal }) => request<GitChange[]>(`${root(id)}/changes`, { signal }),
  })
}

/** The complete old and new version of one file. */
export function gitDiffQuery(id: string, path: string) {
  return queryOptions({
    queryKey: gitChangeKeys.diff(id, path),
    queryFn: ({ signal }) => request<GitDiff>(`${root(id)}/diff`, { query: { path }, signal }),
  })
}

/**
 * All changes of one repository as one unified diff. `repository` is its directory, or null for the first
 * repository.
 */
export function gitPatchQuery(id: string, repository: string | null) {
  return queryOptions({
    queryKey: gitChangeKeys.patch(id, repository),
    queryFn: ({ signal }) =>
      requestText(`${root(id)}/patch`, { query: { repository: repository ?? undefined }, signal }),
  })
}
