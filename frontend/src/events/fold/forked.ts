/** The original of a copied conversation, as the log reports it. Pure. */
import { eventIs, type ConversationEvent } from '@/events/wire/types'

export interface Forked {
  /** The conversation that was copied. It may have been deleted since. */
  originalId: string
  /** When the files of the original were copied. */
  asOf: string
}

/** Returns the origin of the events above. Returns null for an event that does not report it. */
export function forkedOf(event: ConversationEvent): Forked | null {
  if (!eventIs(event, 'ConversationStateUpdateEvent') || event.key !== 'agent_state') return null
  const told = (event.value as { forked?: { conversation_id?: unknown; as_of?: unknown } } | null)?.forked
  if (typeof told?.conversation_id !== 'string' || typeof told.as_of !== 'string') return null
  return { originalId: told.conversation_id.replaceAll('-', ''), asOf: told.as_of }
}
