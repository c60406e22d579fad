import { request } from '@/api/client'

/** A part of a log. `events` come in their order; none if `first_seq` is after `last_seq`. */
export interface EventPage<F> {
  first_seq: number
  last_seq: number
  events: F[]
}

const PAGE_EVENTS = 200

/** Which events of a log to load: before a position, after a position, or around an event. */
export type EventRange = { before_seq: number } | { after_seq: number } | { around_event_id: string }

export function eventsAt<F>(conversationId: string, range: EventRange): Promise<EventPage<F>> {
  return request<EventPage<F>>(`/api/v1/conversation/${conversationId}/events/window`, {
    query: { ...range, limit: PAGE_EVENTS },
  })
}

/** One event with its large parts; null if there is none of this id. */
export async function wholeEvent<E>(conversationId: string, eventId: string): Promise<E | null> {
  const [event] = await request<(E | null)[]>(`/api/v1/conversation/${conversationId}/events`, {
    query: { id: [eventId], full: true },
  })
  return event ?? null
}
