import { infiniteQueryOptions, queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import { useChange } from '@/api/mutations'
import type { components } from '@/api/schema.gen'

export type Callback = components['schemas']['CallbackInfo']
export type CallbackWithSecret = components['schemas']['CallbackWithSecret']
export type Delivery = components['schemas']['DeliveryInfo']

const ROOT = '/api/v1/callbacks'
const REFRESH_MS = 5_000
const PAGE_SIZE = 20

const ALL = ['callbacks'] as const

export function callbacksQuery() {
  return queryOptions({
    queryKey: ALL,
    queryFn: ({ signal }) => request<Callback[]>(ROOT, { signal }),
  })
}

/** The deliveries of a webhook, the newest first. */
export function deliveriesQuery(id: string) {
  return infiniteQueryOptions({
    queryKey: ['callback-deliveries', id] as const,
    queryFn: ({ signal, pageParam }) =>
      request<{ items: Delivery[]; next_page_id?: string | null }>(`${ROOT}/${id}/deliveries`, {
        signal,
        query: { limit: PAGE_SIZE, page_id: pageParam },
      }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_page_id,
    // A delivery is a job. Jobs change without an event, so the page loads them repeatedly.
    refetchInterval: REFRESH_MS,
  })
}

export type Processor = 'webhook' | 'chat' | 'mail' | 'comment' | 'task'

/** `url` belongs to a webhook and to a chat, `email` to mail, and `instructions` to a task. */
export interface NewWebhook {
  name: string
  processor: Processor
  url?: string
  email?: string
  instructions?: string
  kinds: string[]
  tools: string[]
  statuses: string[]
  is_for_everyone: boolean
}

/** Adds a callback. The secret of a webhook is only in this reply. The form shows the errors. */
export function useAddWebhook() {
  return useChange(
    (wanted: NewWebhook) => request<CallbackWithSecret>(ROOT, { method: 'POST', body: wanted }),
    [ALL],
    { isErrorShownInline: true },
  )
}

export function useRotateSecret() {
  return useChange(
    (id: string) => request<CallbackWithSecret>(`${ROOT}/${id}/rotate-secret`, { method: 'POST', body: {} }),
    [ALL],
  )
}

export function useEnableCallback() {
  return useChange(
    ({ id, isEnabled }: { id: string; isEnabled: boolean }) =>
      request<Callback>(`${ROOT}/${id}`, { method: 'PATCH', body: { is_enabled: isEnabled } }),
    [ALL],
  )
}

export function useDeleteCallback() {
  return useChange((id: string) => request<unknown>(`${ROOT}/${id}`, { method: 'DELETE' }), [ALL])
}

export function useRedeliver(id: string) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (deliveryId: string) =>
      request<Delivery>(`${ROOT}/${id}/deliveries/${deliveryId}/redeliver`, { method: 'POST' }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['callback-deliveries', id] }),
  })
}
