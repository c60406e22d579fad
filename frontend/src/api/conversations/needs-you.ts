/**
 * The conversations whose agent waits for an answer or an approval of the user. The user's stream reports
 * them.
 */
import { skipToken, useQuery, type QueryClient } from '@tanstack/react-query'
import type { AppConversation } from '@/api/types'

const KEY = ['needs-you'] as const
const NONE: readonly AppConversation[] = []

/**
 * Returns the waiting conversations, the newest first. The list is empty until the stream has reported it.
 */
export function useNeedsYou(): readonly AppConversation[] {
  const { data } = useQuery<readonly AppConversation[]>({
    queryKey: KEY,
    queryFn: skipToken,
    staleTime: Infinity,
    gcTime: Infinity,
  })
  return data ?? NONE
}

/**
 * Replaces the list by the conversations among `conversations` that wait. Returns those that did not wait
 * before.
 */
export function setNeedsYou(
  queryClient: QueryClient,
  conversations: readonly AppConversation[],
): AppConversation[] {
  const before = known(queryClient)
  const waiting = conversations.filter(waitsForUser)
  queryClient.setQueryData(KEY, waiting)
  return waiting.filter(({ id }) => !before.some((each) => each.id === id))
}

/** Updates the list for one conversation. Returns whether the conversation has begun to wait. */
export function markNeedsYou(queryClient: QueryClient, conversation: AppConversation): boolean {
  const before = known(queryClient)
  const others = before.filter(({ id }) => id !== conversation.id)
  const isWaiting = waitsForUser(conversation)
  if (!isWaiting && others.length === before.length) return false
  queryClient.setQueryData(KEY, isWaiting ? [conversation, ...others] : others)
  return isWaiting && others.length === before.length
}

export function forgetNeedsYou(queryClient: QueryClient, id: string): void {
  queryClient.setQueryData(
    KEY,
    known(queryClient).filter((each) => each.id !== id),
  )
}

/** Returns whether the agent waits and this user has the right to answer it. */
export function waitsForUser({ needs_you, access }: AppConversation): boolean {
  return Boolean(needs_you) && access !== 'view'
}

function known(queryClient: QueryClient): readonly AppConversation[] {
  return queryClient.getQueryData<readonly AppConversation[]>(KEY) ?? NONE
}
