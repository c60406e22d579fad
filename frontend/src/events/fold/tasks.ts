/** Reads the tasks of sub-agents from the log. Each step of a task is one state update. Pure. */
import { eventIs, type Action, type ConversationEvent } from '@/events/wire/types'

export type TaskStatus = 'running' | 'waiting' | 'paused' | 'completed' | 'error' | 'conflict' | 'interrupted'

/** An action for which a sub-agent asks the user for approval. */
export interface AskedAction {
  tool_name: string
  summary?: string | null
  action?: Action | null
}

export interface DelegatedTask {
  id: string
  conversation_id: string
  /** The call that handed the task over, or resumed it. */
  action_id: string
  subagent: string
  description: string
  status: TaskStatus
  last_action: string
  cost: number
  asks: readonly AskedAction[]
  isolation: 'shared' | 'worktree'
}

/** Returns the tasks that `event` reports, in their new state. Returns none for all other events. */
export function tasksOf(event: ConversationEvent): readonly DelegatedTask[] {
  if (!eventIs(event, 'ConversationStateUpdateEvent') || event.key !== 'agent_state') return []
  const reported = (event.value as { tasks?: Record<string, Partial<DelegatedTask>> } | null)?.tasks ?? {}
  return Object.entries(reported).flatMap(([id, task]) => (isTask(task) ? [{ ...EMPTY, ...task, id }] : []))
}

const EMPTY = {
  subagent: '',
  description: '',
  last_action: '',
  cost: 0,
  asks: [],
  isolation: 'shared',
} as const

function isTask(
  task: Partial<DelegatedTask>,
): task is Partial<DelegatedTask> & Pick<DelegatedTask, 'conversation_id' | 'action_id' | 'status'> {
  return (
    typeof task.conversation_id === 'string' &&
    typeof task.action_id === 'string' &&
    typeof task.status === 'string'
  )
}
