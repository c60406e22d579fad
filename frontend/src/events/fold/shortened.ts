/** Long outputs stand in the log by their beginning and end; the whole event is asked for when someone wants it. Pure. */
import type { ConversationView, TimelineItem } from './view'
import type { ConversationEvent, DurableFrame, Outcome } from '@/events/wire/types'

const ADDRESS = /^\/api\/v1\/conversation\/[0-9a-f]{32}\/events\/blobs\/[0-9a-f]{64}$/

/** Whether the address of an image is that of a part of an event that our server keeps. */
export const isKeptImage = (url: string) => ADDRESS.test(url)

/** The ids of events with shortened texts, with those of `frames`; the same set where none is. */
export function shortenedAfter(
  before: ReadonlySet<string>,
  frames: readonly DurableFrame[],
): ReadonlySet<string> {
  const added = frames.filter(({ blobs }) => blobs?.some((blob) => blob.media_type === 'text/plain'))
  return added.length === 0 ? before : new Set([...before, ...added.map(({ event }) => event.id)])
}

/** The view with the whole of an event in place of its shortened form. */
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
