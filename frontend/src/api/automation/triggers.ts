import { infiniteQueryOptions, queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import type { Schemas, Sent } from '@/api/schema'

export type Trigger = Schemas['TriggerInfo']
export type TriggerWithSecret = Schemas['TriggerWithSecret']
export type TriggerDelivery = Schemas['TriggerDeliveryInfo']
export type TriggerEvent = Schemas['TriggerEvent']

const ROOT = '/api/v1/triggers'
const REFRESH_MS = 5_000
const PAGE_SIZE = 20

const ALL = ['triggers'] as const

export const TRIGGER_EVENTS = [
  'label',
  'mention',
  'assignment',
  'review_comment',
  'failing_check',
  'push',
] as const satisfies TriggerEvent[]

export function triggersQuery() {
  return queryOptions({
    queryKey: ALL,
    queryFn: ({ signal }) => request<Trigger[]>(ROOT, { signal }),
  })
}

/** The deliveries of the git host, newest first. */
export function triggerDeliveriesQuery(id: string) {
  return infiniteQueryOptions({
    queryKey: ['trigger-deliveries', id] as const,
    queryFn: ({ signal, pageParam }) =>
      request<{ items: TriggerDelivery[]; next_page_id?: string | null }>(`${ROOT}/${id}/deliveries`, {
        signal,
        query: { limit: PAGE_SIZE, page_id: pageParam },
      }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_page_id,
    refetchInterval: REFRESH_MS,
  })
}

export type NewTrigger = Sent<Schemas['AddTrigger']>
export type TriggerFields = Omit<NewTrigger, 'repository'>

/** Adds a trigger. The secret of the trigger is only in this reply. The form shows the errors. */
export function useAddTrigger() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (wanted: NewTrigger) => request<TriggerWithSecret>(ROOT, { method: 'POST', body: wanted }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ALL }),
    meta: { errorShownInline: true },
  })
}

/** Changes a trigger. The form shows the errors. */
export function useChangeTrigger(id: string) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (wanted: TriggerFields) =>
      request<Trigger>(`${ROOT}/${id}`, { method: 'PATCH', body: wanted }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ALL }),
    meta: { errorShownInline: true },
  })
}

export function useRotateTriggerSecret() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (id: string) =>
      request<TriggerWithSecret>(`${ROOT}/${id}/rotate-secret`, { method: 'POST', body: {} }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ALL }),
  })
}

export function useDeleteTrigger() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (id: string) => request<unknown>(`${ROOT}/${id}`, { method: 'DELETE' }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ALL }),
  })
}
