import { useMutation } from '@tanstack/react-query'
import { fileNameOf, saveFile } from '@/lib/browser/save-file'
import { requestBlob } from '@/api/client'
import type { AppConversation } from '@/api/types'

/**
 * `workspace` downloads the files that the agent works on, as a tar.gz. The other formats are forms of the
 * log.
 */
export type DownloadFormat = 'markdown' | 'zip' | 'atif' | 'workspace'

const ENDINGS: Record<DownloadFormat, string> = {
  markdown: 'md',
  zip: 'zip',
  atif: 'atif.json',
  workspace: 'tar.gz',
}
const TIMEOUT_MS = 600_000

/** Downloads a conversation and saves it as a file on the user's computer. */
export function useDownload({ id, title }: AppConversation) {
  const root = `/api/v1/app-conversations/${id}`
  return useMutation({
    mutationFn: (format: DownloadFormat) =>
      format === 'workspace'
        ? requestBlob(`${root}/workspace`, { timeoutMs: TIMEOUT_MS })
        : requestBlob(`${root}/download`, { query: { format }, timeoutMs: TIMEOUT_MS }),
    onSuccess: (content, format) => saveFile(content, `${fileNameOf(title ?? '')}.${ENDINGS[format]}`),
  })
}
