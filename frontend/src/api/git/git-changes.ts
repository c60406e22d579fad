import type { Schemas } from '@/api/schema'
import { queryOptions } from '@tanstack/react-query'
import { request, requestText } from '@/api/client'
import type { GitChange, GitDiff } from '@/api/types'

const root = (id: string) => `/api/v1/app-conversations/${id}/git`

/** `all(id)` covers every query of one conversation: invalidate it when the agent touched files. */
export const gitChangeKeys = {
  all: (id: string) => ['git-changes', id] as const,
  list: (id: string) => ['git-changes', id, 'list'] as const,
  diff: (id: string, path: string) => ['git-changes', id, 'diff', path] as const,
  pushes: (id: string) => ['git-changes', id, 'pushes'] as const,
  patch: (id: string, repository: string | null) => ['git-changes', id, 'patch', repository] as const,
}

/**
 * One ref of a push to the git host; commits of zeros say that the ref was, or is, not there.
 * `outcome`: refused by us, rejected by the host; unknown: broken off before the host told.
 */
export type GitPush = Schemas['GitPushInfo']

/** The newest first. */
export function gitPushesQuery(id: string) {
  return queryOptions({
    queryKey: gitChangeKeys.pushes(id),
    queryFn: ({ signal }) => request<GitPush[]>(`${root(id)}/pushes`, { signal }),
  })
}

/** Files that differ from where the conversation began. */
export function gitChangesQuery(id: string) {
  return queryOptions({
    queryKey: gitChangeKeys.list(id),
    queryFn: ({ signal }) => request<GitChange[]>(`${root(id)}/changes`, { signal }),
  })
}

/** Both whole versions of one file. */
export function gitDiffQuery(id: string, path: string) {
  return queryOptions({
    queryKey: gitChangeKeys.diff(id, path),
    queryFn: ({ signal }) => request<GitDiff>(`${root(id)}/diff`, { query: { path }, signal }),
  })
}

/** The whole change of one repository as one unified diff. `repository`: its directory; null for the first one. */
export function gitPatchQuery(id: string, repository: string | null) {
  return queryOptions({
    queryKey: gitChangeKeys.patch(id, repository),
    queryFn: ({ signal }) =>
      requestText(`${root(id)}/patch`, { query: { repository: repository ?? undefined }, signal }),
  })
}
