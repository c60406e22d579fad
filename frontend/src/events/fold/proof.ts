/** Reads the proof of finished work from the log. Pure. */
import { eventIs, type ConversationEvent } from '@/events/wire/types'

/**
 * The proof in the log under `agent_state`: the changed files, and the commands that ran after the last
 * change.
 */
export interface Proof {
  status: 'verified' | 'unverified'
  changed: string[]
  commands: {
    event_id: string
    command: string
    exit_code: number | null
    is_test: boolean
    is_cited: boolean
  }[]
}

/** Returns the proof that a state update reports. Returns null for all other events. */
export function proofOf(event: ConversationEvent): Proof | null {
  if (!eventIs(event, 'ConversationStateUpdateEvent') || event.key !== 'agent_state') return null
  return (event.value as { proof?: Proof } | null)?.proof ?? null
}
