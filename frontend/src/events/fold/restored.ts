/** A workspace that came out of a backup, as the log tells of it. Pure. */
import { eventIs, type ConversationEvent } from '@/events/wire/types'

export interface Restored {
  /** When the backup was taken; null for a workspace that begins anew. */
  asOf: string | null
  /** How many events came after it: what they did to files is lost. */
  lostEvents: number
}

/** What the files are since then; null for an event that does not tell of that. */
export function restoredOf(event: ConversationEvent): Restored | null {
  if (!eventIs(event, 'ConversationStateUpdateEvent') || event.key !== 'agent_state') return null
  const told = (event.value as { restored?: { as_of?: unknown; lost_events?: unknown } } | null)?.restored
  if (typeof told?.lost_events !== 'number') return null
  return { asOf: typeof told.as_of === 'string' ? told.as_of : null, lostEvents: told.lost_events }
}
