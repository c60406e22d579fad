import { eventIs, type Action, type EventOf, type Observation, type Outcome } from '@/events/types'
import type { ToolState } from '../tool-card'

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
