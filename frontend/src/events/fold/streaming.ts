/** Folds the frames of replies that the model is still writing. */
import type { Frame } from '@/events/wire/types'

/** A reply that is being written. The durable event with the same id replaces it. */
export interface StreamingItem {
  id: string
  attempt: number
  nextOrder: number
  text: string
  reasoning: string
  /**
   * True if the page connected in the middle of the reply and missed the first pieces. The durable event has
   * the whole text.
   */
  hasGap: boolean
  /**
   * True if the reply began before the last reconnect. It may have ended while the page was not connected.
   */
  isStale: boolean
}

/** The part of a view that changes while replies arrive. */
export interface Streaming {
  streaming: readonly StreamingItem[]
  /** Ids of the latest agent events, so that a repeated delta does not revive a reply that has ended. */
  endedItems: readonly string[]
}

const REMEMBERED_ENDED_ITEMS = 16

function newItem(id: string, attempt: number, firstOrder: number): StreamingItem {
  return {
    id,
    attempt,
    nextOrder: firstOrder,
    text: '',
    reasoning: '',
    hasGap: firstOrder > 0,
    isStale: false,
  }
}

/** Starts a reply, or its next attempt. */
export function startItem(draft: Streaming, id: string, attempt: number): void {
  if (draft.endedItems.includes(id)) return
  const known = draft.streaming.find((item) => item.id === id)
  if (known !== undefined && known.attempt >= attempt) return
  const others = draft.streaming.filter((item) => item.id !== id && !item.isStale)
  draft.streaming = [...others, newItem(id, attempt, 0)]
}

/** Adds a piece to a reply. The first pieces of the reply may have been missed. */
export function applyDelta(draft: Streaming, delta: Extract<Frame, { type: 'delta' }>): void {
  if (draft.endedItems.includes(delta.item_id)) return
  const known = draft.streaming.find((item) => item.id === delta.item_id)
  if (known !== undefined && delta.attempt < known.attempt) return
  const isSameAttempt = known?.attempt === delta.attempt
  const item = isSameAttempt ? known : newItem(delta.item_id, delta.attempt, delta.order)
  if (delta.order < item.nextOrder) return
  const next: StreamingItem = {
    ...item,
    [delta.kind]: item[delta.kind] + delta.content,
    nextOrder: delta.order + 1,
    hasGap: item.hasGap || delta.order > item.nextOrder,
    isStale: false,
  }
  draft.streaming =
    known === undefined
      ? [...draft.streaming, next]
      : draft.streaming.map((each) => (each === known ? next : each))
}

/** Ends the reply with the id of a durable agent event. Also ends older replies whose end was missed. */
export function endStreaming(draft: Streaming, id: string): void {
  draft.endedItems = [...draft.endedItems, id].slice(-REMEMBERED_ENDED_ITEMS)
  if (draft.streaming.length === 0) return
  draft.streaming = draft.streaming.filter((item) => item.id !== id && !item.isStale)
}
