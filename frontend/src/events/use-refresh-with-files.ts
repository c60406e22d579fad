import { useQueryClient, type QueryKey } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { agentStatus } from '@/events/status'
import { useConversation } from '@/events/use-conversation'

const QUIET_MS = 600

/**
 * Loads queries of a conversation again when the agent has changed files or its run has ended. It waits for a
 * short pause first. The replayed history does not cause a load, because it happened before the queries were
 * first loaded. `keyOf` returns the key that all these queries begin with.
 */
export function useRefreshWithFiles(conversationId: string, keyOf: (id: string) => QueryKey): void {
  const queryClient = useQueryClient()
  const touchedSeq = useConversation((state) => state.view.filesTouchedSeq)
  const isRunning = useConversation((state) => agentStatus(state) === 'running')
  const isReplayed = useConversation(
    ({ view }) => view.throughSeq !== null && view.lastSeq >= view.throughSeq,
  )
  const known = useRef<string | null>(null)
  useEffect(() => {
    const state = `${touchedSeq} ${isRunning}`
    if (known.current === null) {
      if (isReplayed) known.current = state
      return
    }
    if (touchedSeq === 0 || known.current === state) return
    known.current = state
    const timer = setTimeout(
      () => void queryClient.invalidateQueries({ queryKey: keyOf(conversationId) }),
      QUIET_MS,
    )
    return () => clearTimeout(timer)
  }, [queryClient, conversationId, keyOf, touchedSeq, isRunning, isReplayed])
}
