/** The proof of finished work, as the log reports it. Pure. */
import { eventIs, type ConversationEvent } from '@/events/wire/types'

/** In the log under `agent_state`: the files that were changed and the commands that ran after the last change. */
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

/** The proof that a state update tells of; null for every other event. */
export function proofOf(event: ConversationEvent): Proof | null {
  if (!eventIs(event, 'ConversationStateUpdateEvent') || event.key !== 'agent_state') return null
  return (event.value as { proof?: Proof } | null)?.proof ?? null
}
