import { infiniteQueryOptions, queryOptions, useMutation } from '@tanstack/react-query'
import { request, requestBlob } from '@/api/client'
import type { Schemas } from '@/api/schema'
import { saveFile } from '@/lib/browser/save-file'

/**
 * One file or directory of a workspace. `kind` is `other` if it cannot be opened: for example a link that
 * leads out of the workspace.
 */
export type DirectoryEntry = Schemas['DirectoryEntry']
type DirectoryPage = Schemas['DirectoryPage']

const DOWNLOAD_TIMEOUT_MS = 600_000

/** `all(id)` covers every query of one conversation. It must be invalidated when files have changed. */
export const fileKeys = {
  all: (id: string) => ['files', id] as const,
  directory: (id: string, path: string | null) => ['files', id, 'directory', path] as const,
  content: (id: string, path: string) => ['files', id, 'content', path] as const,
}

const root = (id: string) => `/api/v1/app-conversations/${id}`

/**
 * What is in a directory. `path` is relative to the conversation's first repository, and null for this
 * repository.
 */
export function directoryQuery(id: string, path: string | null) {
  return infiniteQueryOptions({
    queryKey: fileKeys.directory(id, path),
    queryFn: ({ signal, pageParam }) =>
      request<DirectoryPage>(`${root(id)}/directory`, { query: { path, page_id: pageParam }, signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_page_id,
  })
}

/** One file, as `read` understands its bytes. `path` is relative to the conversation's first repository. */
export function fileContentQuery<T>(id: string, path: string, read: (content: Blob) => Promise<T>) {
  return queryOptions({
    queryKey: fileKeys.content(id, path),
    queryFn: async ({ signal }) =>
      read(await requestBlob(`${root(id)}/file/download`, { query: { path }, signal })),
  })
}

/** Downloads one file and saves it on the user's computer. */
export function useFileDownload(id: string) {
  return useMutation({
    mutationFn: (path: string) =>
      requestBlob(`${root(id)}/file/download`, { query: { path }, timeoutMs: DOWNLOAD_TIMEOUT_MS }),
    onSuccess: (content, path) => saveFile(content, path.split('/').at(-1) ?? path),
  })
}
