/** Going back as the log tells of it. Pure. */
import { eventIs, type ConversationEvent } from '@/events/wire/types'

export interface Rewind {
  checkpoint: number
  /** The checkpoint of what was there before. */
  undo: number
  /** How many files went back; null when they were left alone. */
  files: number | null
  chat: boolean
  /** Files that were left as they were, since others than the agent had edited them. */
  kept: string[]
}

/** What went back; null for an event that does not tell of that. */
export function rewindOf(event: ConversationEvent): Rewind | null {
  if (!eventIs(event, 'ConversationStateUpdateEvent') || event.key !== 'agent_state') return null
  const rewind = (event.value as { rewind?: Partial<Rewind> } | null)?.rewind
  return typeof rewind?.undo === 'number' && typeof rewind.checkpoint === 'number'
    ? { files: null, chat: false, kept: [], checkpoint: rewind.checkpoint, undo: rewind.undo, ...rewind }
    : null
}

/** The event from which the conversation goes on (null: from the beginning), for an update that says so. */
export function newLeaf(event: ConversationEvent): { id: string | null } | null {
  if (!eventIs(event, 'ConversationStateUpdateEvent') || event.key !== 'leaf_event_id') return null
  return { id: typeof event.value === 'string' ? event.value : null }
}

export interface Placed {
  seq: number
  event: ConversationEvent
}

/** What is left of a history for one who has gone back to `leaf`: what led there, and all updates. */
export function branch(history: readonly Placed[], leaf: string | null): Placed[] {
  const parents = new Map(history.map(({ event }) => [event.id, event.parent_id ?? null]))
  const kept = new Set<string>()
  for (let id = leaf; id !== null && !kept.has(id); id = parents.get(id) ?? null) kept.add(id)
  return history.filter(({ event }) => event.kind === 'ConversationStateUpdateEvent' || kept.has(event.id))
}
