import type { Schemas } from '@/api/schema'
import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import type { MessageContent, Success } from '@/api/types'

/**
 * A sent message that the agent has not received yet. `content` has no marks for the vendor's prompt cache.
 */
export type WaitingMessage = Omit<Schemas['WaitingMessage'], 'content'> & { content: MessageContent[] }

const path = (conversationId: string) => `/api/v1/conversations/${conversationId}/pending-messages`
const keyOf = (conversationId: string) => ['waiting-messages', conversationId] as const

/**
 * The messages that wait until the conversation is READY, in the order in which the agent will receive them.
 */
export function waitingMessagesQuery(conversationId: string) {
  return queryOptions({
    queryKey: keyOf(conversationId),
    queryFn: ({ signal }) => request<WaitingMessage[]>(path(conversationId), { signal }),
    // Messages that were sent from another page must be loaded. This page adds its messages to the cache
    // itself.
    staleTime: 0,
  })
}

/**
 * Withdraws a waiting message, so that the agent does not receive it. Fails with 404 if the agent has it
 * already.
 */
export function useTakeBack(conversationId: string) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (messageId: string) =>
      request<Success>(`${path(conversationId)}/${encodeURIComponent(messageId)}`, { method: 'DELETE' }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: keyOf(conversationId) }),
  })
}
