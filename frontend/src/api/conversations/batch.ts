import { useMutation, useQueryClient, type QueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import { ApiError } from '@/api/errors'
import type { Schemas } from '@/api/schema'
import type { AppConversation } from '@/api/types'
import { conversationKeys } from './conversation-keys'
import { refreshTags } from './conversations'
import { setConversation } from './conversation-cache'

type Batch = Schemas['ConversationBatch']
type Problem = Schemas['BatchProblem']
interface Results {
  results: { id: string; conversation: AppConversation | null; problem: Problem | null }[]
}
type Change = Pick<Batch, 'action' | 'tags'>

const MOST_AT_ONCE = 100
const TIMEOUT_MS = 120_000

/**
 * Changes many conversations. Afterwards, the cache has the changed conversations. If some could not be
 * changed, the function throws the first error. A conversation that no longer exists counts as deleted.
 */
async function changeAll(queryClient: QueryClient, ids: readonly string[], change: Change): Promise<void> {
  const problems: Problem[] = []
  for (let begin = 0; begin < ids.length; begin += MOST_AT_ONCE) {
    const body: Batch = { ...change, ids: ids.slice(begin, begin + MOST_AT_ONCE) }
    const { results } = await request<Results>('/api/v1/app-conversations/batch', {
      method: 'POST',
      body,
      timeoutMs: TIMEOUT_MS,
    })
    for (const { id, conversation, problem } of results) {
      const isGone = change.action === 'delete' && (!problem || problem.status === 404)
      if (isGone) queryClient.removeQueries({ queryKey: conversationKeys.detail(id) })
      else if (problem) problems.push(problem)
      else if (conversation) setConversation(queryClient, conversation)
    }
  }
  const [first] = problems
  if (first) throw new ApiError(first.status, first)
}

/** Archives conversations, or restores them from the archive. */
export function useArchiveConversations() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: ({ ids, archived }: { ids: readonly string[]; archived: boolean }) =>
      changeAll(queryClient, ids, { action: archived ? 'archive' : 'unarchive' }),
    meta: { isRepeatable: true },
    onSettled: () => queryClient.invalidateQueries({ queryKey: conversationKeys.lists }),
  })
}

/** Adds tags to conversations. The conversations keep the tags that they have. */
export function useTagConversations() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: ({ ids, tags }: { ids: readonly string[]; tags: Record<string, string> }) =>
      changeAll(queryClient, ids, { action: 'tag', tags }),
    meta: { isRepeatable: true },
    onSettled: () => refreshTags(queryClient),
  })
}

export function useDeleteConversations() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (ids: readonly string[]) => changeAll(queryClient, ids, { action: 'delete' }),
    meta: { isRepeatable: true },
    onSettled: () => queryClient.invalidateQueries({ queryKey: conversationKeys.all }),
  })
}
