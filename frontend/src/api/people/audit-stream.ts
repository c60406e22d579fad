import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import type { components } from '@/api/schema.gen'

export type AuditStream = components['schemas']['AuditStreamInfo']
export type NewAuditStream = components['schemas']['NewAuditStream']
export type SetAuditStream = components['schemas']['SetAuditStream']
export type AuditStreamKind = components['schemas']['StreamKind']

const PATH = '/api/v1/audit-log/stream'
const KEY = ['audit-log', 'stream'] as const

/**
 * The receiver of the audit log. Null if there is none. The page loads it repeatedly to show the progress.
 */
export function auditStreamQuery() {
  return queryOptions({
    queryKey: KEY,
    queryFn: async ({ signal }) =>
      (await request<components['schemas']['CurrentAuditStream']>(PATH, { signal })).stream,
    refetchInterval: 15_000,
  })
}

/** Sets the receiver. The secret of a webhook is only in this reply. The page shows the errors. */
export function useSetAuditStream() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (wanted: SetAuditStream) => request<NewAuditStream>(PATH, { method: 'PUT', body: wanted }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: KEY }),
    meta: { errorShownInline: true },
  })
}

export function useDeleteAuditStream() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: () => request<void>(PATH, { method: 'DELETE' }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: KEY }),
  })
}

/** Sends a test message. The page shows the errors. */
export function useTestAuditStream() {
  return useMutation({
    mutationFn: () => request<void>(`${PATH}/test`, { method: 'POST' }),
    meta: { errorShownInline: true },
  })
}
