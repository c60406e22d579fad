/** Reads from the log that a workspace was restored from a backup. Pure. */
import { eventIs, type ConversationEvent } from '@/events/wire/types'

export interface Restored {
  /** The time of the backup. Null if the workspace starts empty. */
  asOf: string | null
  /** The number of events after the backup. Their changes of files are lost. */
  lostEvents: number
}

/** Returns the restore that this event reports. Returns null for all other events. */
export function restoredOf(event: ConversationEvent): Restored | null {
  if (!eventIs(event, 'ConversationStateUpdateEvent') || event.key !== 'agent_state') return null
  const reported = (event.value as { restored?: { as_of?: unknown; lost_events?: unknown } } | null)?.restored
  if (typeof reported?.lost_events !== 'number') return null
  return {
    asOf: typeof reported.as_of === 'string' ? reported.as_of : null,
    lostEvents: reported.lost_events,
  }
}
