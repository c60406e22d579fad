import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { browserKeys } from '@/api/sandboxes/browser'
import { useConversation } from '@/events/use-conversation'

const QUIET_MS = 300

/** Loads the browser's state again after each step of the agent in its browser. */
export function useRefreshWithSteps(conversationId: string): void {
  const queryClient = useQueryClient()
  const seq = useConversation((state) => state.view.agentBrowser?.seq ?? 0)
  useEffect(() => {
    if (seq === 0) return
    const timer = setTimeout(
      () => void queryClient.invalidateQueries({ queryKey: browserKeys.view(conversationId) }),
      QUIET_MS,
    )
    return () => clearTimeout(timer)
  }, [queryClient, conversationId, seq])
}
