/**
 * Handles long outputs. The log has only their beginning and their end. The whole event is loaded when the
 * user wants to see it. Pure.
 */
import type { ConversationView, TimelineItem } from './view'
import type { ConversationEvent, DurableFrame, Outcome } from '@/events/wire/types'

const ADDRESS = /^\/api\/v1\/conversation\/[0-9a-f]{32}\/events\/blobs\/[0-9a-f]{64}$/

/** Returns whether this address of an image belongs to a part of an event that our server stores. */
export const isStoredImage = (url: string) => ADDRESS.test(url)

/**
 * Returns the ids of events with shortened texts, including those in `frames`. Returns the same set if there
 * are no new ids.
 */
export function shortenedAfter(
  before: ReadonlySet<string>,
  frames: readonly DurableFrame[],
): ReadonlySet<string> {
  const added = frames.filter(({ blobs }) => blobs?.some((blob) => blob.media_type === 'text/plain'))
  return added.length === 0 ? before : new Set([...before, ...added.map(({ event }) => event.id)])
}

/** Returns the view with the complete event in place of its shortened form. */
export function withWhole(view: ConversationView, event: ConversationEvent): ConversationView {
  const { id } = event
  const shortened = new Set([...view.shortened].filter((each) => each !== id))
  return {
    ...view,
    shortened,
    items: view.items.map((item) => wholeItem(item, event)),
    history: view.history.map((each) => (each.event.id === id ? { ...each, event } : each)),
  }
}

function wholeItem(item: TimelineItem, event: ConversationEvent): TimelineItem {
  if (item.type === 'tool')
    return item.outcome?.id === event.id ? { ...item, outcome: event as Outcome } : item
  return item.event.id === event.id ? { ...item, event } : item
}
