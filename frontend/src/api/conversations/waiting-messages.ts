import type { Schemas } from '@/api/schema'
import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import type { MessageContent, Success } from '@/api/types'

/** A message that was sent and that the agent does not have yet. `content`: without marks for vendors' caches. */
export type WaitingMessage = Omit<Schemas['WaitingMessage'], 'content'> & { content: MessageContent[] }

const path = (conversationId: string) => `/api/v1/conversations/${conversationId}/pending-messages`
const keyOf = (conversationId: string) => ['waiting-messages', conversationId] as const

/** The messages that wait for a conversation that is not READY, in the order in which the agent gets them. */
export function waitingMessagesQuery(conversationId: string) {
  return queryOptions({
    queryKey: keyOf(conversationId),
    queryFn: ({ signal }) => request<WaitingMessage[]>(path(conversationId), { signal }),
    // Only what another page sent is news; what this one sends it knows.
    staleTime: 0,
  })
}

/** The agent does not get the message. Fails with 404 when it has it already. */
export function useTakeBack(conversationId: string) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (messageId: string) =>
      request<Success>(`${path(conversationId)}/${encodeURIComponent(messageId)}`, { method: 'DELETE' }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: keyOf(conversationId) }),
  })
}
