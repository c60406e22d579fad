import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { gitChangeKeys } from '@/api/git-changes'
import { agentStatus } from '@/events/status'
import { useConversation } from '@/events/use-conversation'

const QUIET_MS = 600

/** Asks for the changes anew when the agent touched files or its run ended, once things are quiet for a moment. */
export function useRefreshWithEvents(conversationId: string): void {
  const queryClient = useQueryClient()
  const touchedSeq = useConversation((state) => state.view.filesTouchedSeq)
  const isRunning = useConversation((state) => agentStatus(state) === 'running')
  useEffect(() => {
    if (touchedSeq === 0) return
    const timer = setTimeout(
      () => void queryClient.invalidateQueries({ queryKey: gitChangeKeys.all(conversationId) }),
      QUIET_MS,
    )
    return () => clearTimeout(timer)
  }, [queryClient, conversationId, touchedSeq, isRunning])
}
