/** Reads the original of a copied conversation from the log. Pure. */
import { eventIs, type ConversationEvent } from '@/events/wire/types'

export interface Forked {
  /** The conversation that was copied. It may have been deleted since. */
  originalId: string
  /** The time at which the files of the original were copied. */
  asOf: string
}

/** Returns the origin of the events before `event`. Returns null if the event does not report it. */
export function forkedOf(event: ConversationEvent): Forked | null {
  if (!eventIs(event, 'ConversationStateUpdateEvent') || event.key !== 'agent_state') return null
  const reported = (event.value as { forked?: { conversation_id?: unknown; as_of?: unknown } } | null)?.forked
  if (typeof reported?.conversation_id !== 'string' || typeof reported.as_of !== 'string') return null
  return { originalId: reported.conversation_id.replaceAll('-', ''), asOf: reported.as_of }
}
