import { eventIs, type Action, type EventOf, type Observation, type Outcome } from '@/events/wire/types'
import type { ToolState } from './tool-card'

/** What every tool's renderer is given. */
export interface ToolProps<A extends Action = Action> {
  event: EventOf<'ActionEvent'>
  action: A
  outcome: Outcome | null
  state: ToolState
}

/** What the tool answered; null while it runs and where it was refused. */
export function observationOf(outcome: Outcome | null): Observation | null {
  return eventIs(outcome, 'ObservationEvent') ? outcome.observation : null
}

/** The agent's own words for a call. The runtime's stand-in only repeats the call ("tool: {…}") and is passed over. */
export function ownSummary({ summary, tool_name }: EventOf<'ActionEvent'>): string | null {
  return summary && !summary.startsWith(`${tool_name}: {`) ? summary : null
}
