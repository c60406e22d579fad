/** Reads from the log that files were rewound, or that the conversation went back. Pure. */
import { eventIs, type ConversationEvent } from '@/events/wire/types'
import { proofOf } from './proof'

export interface Rewind {
  checkpoint: number
  /** The checkpoint of the state before the rewind. */
  undo: number
  /** The number of restored files. Null if files were not part of the rewind. */
  files: number | null
  chat: boolean
  /** Files that were left unchanged, because they were edited by others than the agent. */
  kept: string[]
}

/** Returns the rewind that this event reports. Returns null for all other events. */
export function rewindOf(event: ConversationEvent): Rewind | null {
  if (!eventIs(event, 'ConversationStateUpdateEvent') || event.key !== 'agent_state') return null
  const rewind = (event.value as { rewind?: Partial<Rewind> } | null)?.rewind
  return typeof rewind?.undo === 'number' && typeof rewind.checkpoint === 'number'
    ? { files: null, chat: false, kept: [], checkpoint: rewind.checkpoint, undo: rewind.undo, ...rewind }
    : null
}

/**
 * Returns the event from which the conversation continues, if this update reports that it went back. The id
 * is null if it continues from the beginning. Returns null for all other events.
 */
export function newLeaf(event: ConversationEvent): { id: string | null } | null {
  if (!eventIs(event, 'ConversationStateUpdateEvent') || event.key !== 'leaf_event_id') return null
  return { id: typeof event.value === 'string' ? event.value : null }
}

export interface PositionedEvent {
  seq: number
  event: ConversationEvent
}

/**
 * Returns the part of a history that remains after going back to `leaf`: the events that led to it, and all
 * updates. The proof of removed work is removed, too.
 */
export function branch(history: readonly PositionedEvent[], leaf: string | null): PositionedEvent[] {
  const parents = new Map(history.map(({ event }) => [event.id, event.parent_id ?? null]))
  const kept = new Set<string>()
  for (let id = leaf; id !== null && !kept.has(id); id = parents.get(id) ?? null) kept.add(id)
  let isOnBranch = true
  return history.filter(({ event }) => {
    if (event.kind === 'ConversationStateUpdateEvent') return isOnBranch || proofOf(event) === null
    isOnBranch = kept.has(event.id)
    return isOnBranch
  })
}
