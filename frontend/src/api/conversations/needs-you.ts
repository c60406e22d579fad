/** The conversations whose agent waits for an answer or an approval of the user, as the user's stream tells. */
import { skipToken, useQuery, type QueryClient } from '@tanstack/react-query'
import type { AppConversation } from '@/api/types'

const KEY = ['needs-you'] as const
const NONE: readonly AppConversation[] = []

/** The newest first. Empty until the stream has told. */
export function useNeedsYou(): readonly AppConversation[] {
  const { data } = useQuery<readonly AppConversation[]>({
    queryKey: KEY,
    queryFn: skipToken,
    staleTime: Infinity,
    gcTime: Infinity,
  })
  return data ?? NONE
}

/** Replaces all by those that wait among `conversations`. Returns the ones that did not wait before. */
export function setNeedsYou(
  queryClient: QueryClient,
  conversations: readonly AppConversation[],
): AppConversation[] {
  const before = known(queryClient)
  const waiting = conversations.filter(waitsForUser)
  queryClient.setQueryData(KEY, waiting)
  return waiting.filter(({ id }) => !before.some((each) => each.id === id))
}

/** Notes how this conversation stands now. Returns whether it has begun to wait. */
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

/** Whether the agent waits for this user, who may answer it. */
export function waitsForUser({ needs_you, access }: AppConversation): boolean {
  return Boolean(needs_you) && access !== 'view'
}

function known(queryClient: QueryClient): readonly AppConversation[] {
  return queryClient.getQueryData<readonly AppConversation[]>(KEY) ?? NONE
}
