import { request } from '@/api/client'

/**
 * A part of a log. `events` are in the order of the log. `events` is empty if `first_seq` is greater than
 * `last_seq`.
 */
export interface EventPage<F> {
  first_seq: number
  last_seq: number
  events: F[]
}

const PAGE_EVENTS = 200

/** Selects the events of a log to load: before a position, after a position, or around an event. */
export type EventRange = { before_seq: number } | { after_seq: number } | { around_event_id: string }

export function eventsAt<F>(conversationId: string, range: EventRange): Promise<EventPage<F>> {
  return request<EventPage<F>>(`/api/v1/conversation/${conversationId}/events/window`, {
    query: { ...range, limit: PAGE_EVENTS },
  })
}

/** Returns one event with its large parts. Returns null if no event has this id. */
export async function wholeEvent<E>(conversationId: string, eventId: string): Promise<E | null> {
  const [event] = await request<(E | null)[]>(`/api/v1/conversation/${conversationId}/events`, {
    query: { id: [eventId], full: true },
  })
  return event ?? null
}
