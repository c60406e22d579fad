/** Reads a goal from the log. Each step of the goal is one state update. Pure. */
import type { Goal, GoalStatus } from '@/api/types'
import { eventIs, type ConversationEvent } from '@/events/wire/types'

export interface Verdict {
  /** How likely it is that the whole goal is reached, from 0 to 1. */
  score: number
  complete: boolean
  missing: string
}

export interface PursuedGoal extends Goal {
  verdict: Verdict | null
}

export type GoalStep = 'set' | 'judged' | 'resumed' | 'interrupted'

const STATUSES: readonly string[] = ['running', 'complete', 'capped', 'interrupted'] satisfies GoalStatus[]

/** Returns the goal after `event`. Returns null if the event reports no goal. */
export function goalOf(event: ConversationEvent): PursuedGoal | null {
  if (!eventIs(event, 'ConversationStateUpdateEvent') || event.key !== 'goal') return null
  const goal = event.value as Partial<PursuedGoal> | null
  const isGoal =
    typeof goal?.objective === 'string' &&
    typeof goal.iteration === 'number' &&
    typeof goal.max_iterations === 'number' &&
    STATUSES.includes(goal.status ?? '')
  return isGoal ? ({ verdict: null, ...goal } as PursuedGoal) : null
}

/** Returns what has happened to the goal, compared with its state before. */
export function goalStep(before: PursuedGoal | null, after: PursuedGoal): GoalStep {
  if (after.status === 'interrupted') return 'interrupted'
  if (after.iteration > 0 && after.iteration !== before?.iteration) return 'judged'
  return before?.status === 'interrupted' && before.objective === after.objective ? 'resumed' : 'set'
}

export const hasGoalEnded = ({ status }: Goal) => status === 'complete' || status === 'capped'
