import { useMutation } from '@tanstack/react-query'
import { fileNameOf, saveFile } from '@/lib/browser/save-file'
import { requestBlob } from '@/api/client'
import type { AppConversation } from '@/api/types'

export type DownloadFormat = 'markdown' | 'zip'

const ENDINGS: Record<DownloadFormat, string> = { markdown: 'md', zip: 'zip' }
const TIMEOUT_MS = 600_000

/** Saves a conversation as a file of the user's. */
export function useDownload({ id, title }: AppConversation) {
  return useMutation({
    mutationFn: (format: DownloadFormat) =>
      requestBlob(`/api/v1/app-conversations/${id}/download`, { query: { format }, timeoutMs: TIMEOUT_MS }),
    onSuccess: (content, format) => saveFile(content, `${fileNameOf(title ?? '')}.${ENDINGS[format]}`),
  })
}
