import { infiniteQueryOptions, useMutation } from '@tanstack/react-query'
import { saveFile } from '@/lib/browser/save-file'
import { request, requestBlob } from '@/api/client'
import type { components } from '@/api/schema.gen'

export type AuditEntry = components['schemas']['AuditEntryInfo']
export type AuditAction = AuditEntry['action']

/**
 * The filter. A field that is left out allows all values. Times are ISO 8601. `since` is included and `until`
 * is not.
 */
export interface AuditFilter {
  actor_id?: string
  action?: AuditAction
  outcome?: AuditEntry['outcome']
  since?: string
  until?: string
}

export type AuditFormat = 'jsonl' | 'csv'

const ROOT = '/api/v1/audit-log'
const PAGE_SIZE = 50
const EXPORT_TIMEOUT_MS = 600_000

/** The entries of the audit log, the newest first. */
export function auditLogQuery(filter: AuditFilter) {
  return infiniteQueryOptions({
    queryKey: ['audit-log', filter] as const,
    queryFn: ({ signal, pageParam }) =>
      request<{ items: AuditEntry[]; next_page_id?: string | null }>(ROOT, {
        signal,
        query: { ...filter, limit: PAGE_SIZE, page_id: pageParam },
      }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_page_id,
  })
}

/** Saves all entries that match the filter as a file on the user's computer. */
export function useExportAuditLog() {
  return useMutation({
    mutationFn: ({ format, filter }: { format: AuditFormat; filter: AuditFilter }) =>
      requestBlob(`${ROOT}/export`, { query: { ...filter, format }, timeoutMs: EXPORT_TIMEOUT_MS }),
    onSuccess: (content, { format }) => saveFile(content, `audit-log.${format}`),
  })
}
