import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { gitChangeKeys } from '@/api/git/git-changes'
import { agentStatus } from '@/events/status'
import { useConversation } from '@/events/use-conversation'

const QUIET_MS = 600

/**
 * Asks for the changes anew when the agent touched files or its run ended, once things are quiet for a moment.
 * What the history tells that is replayed first was there before the changes were asked for.
 */
export function useRefreshWithEvents(conversationId: string): void {
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
      () => void queryClient.invalidateQueries({ queryKey: gitChangeKeys.all(conversationId) }),
      QUIET_MS,
    )
    return () => clearTimeout(timer)
  }, [queryClient, conversationId, touchedSeq, isRunning, isReplayed])
}
