import { eventIs, type Action, type EventOf, type Observation, type Outcome } from '@/events/wire/types'
import type { ToolState } from './tool-card'

/** The props of every tool's renderer. */
export interface ToolProps<A extends Action = Action> {
  event: EventOf<'ActionEvent'>
  action: A
  outcome: Outcome | null
  state: ToolState
}

/** The tool's answer. Null while the call runs, and if it was refused. */
export function observationOf(outcome: Outcome | null): Observation | null {
  return eventIs(outcome, 'ObservationEvent') ? outcome.observation : null
}

/**
 * Returns the agent's own summary of a call. Ignores the runtime's replacement, which only repeats the call
 * ("tool: {…}").
 */
export function ownSummary({ summary, tool_name }: EventOf<'ActionEvent'>): string | null {
  return summary && !summary.startsWith(`${tool_name}: {`) ? summary : null
}
