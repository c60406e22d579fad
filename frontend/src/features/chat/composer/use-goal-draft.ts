import { useState } from 'react'
import { useSetGoal } from '@/api/conversations/goals'
import { agentStatus, type AgentStatus } from '@/events/status'
import { useConversation } from '@/events/use-conversation'

const AT_REST: ReadonlySet<AgentStatus> = new Set<AgentStatus>([
  'idle',
  'finished',
  'paused',
  'error',
  'stuck',
])

/** Returns whether the text becomes a goal. An agent that is working cannot be given a goal. */
export function useGoalDraft(conversationId: string) {
  const [chosen, setRounds] = useState<number | null>(null)
  const isPossible = useConversation((state) => AT_REST.has(agentStatus(state)))
  const { mutate, isPending, error } = useSetGoal(conversationId)
  const rounds = isPossible ? chosen : null

  function set(objective: string, onSet: () => void) {
    if (rounds === null) return
    mutate(
      { objective, max_iterations: rounds },
      {
        onSuccess: () => {
          setRounds(null)
          onSet()
        },
      },
    )
  }

  return { rounds, setRounds, isPossible, set, isPending, error }
}
