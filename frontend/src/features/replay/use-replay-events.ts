import { useState } from 'react'
import type { PositionedEvent } from '@/events/fold/rewind'
import { useConversation } from '@/events/use-conversation'
import { useLoadOlder } from '@/events/use-load-older'

/**
 * Returns the events of the replay, in order and without gaps. Returns null until all events are loaded.
 * Later events do not change an open replay.
 */
export function useReplayEvents(): readonly PositionedEvent[] | null {
  const [events, setEvents] = useState<readonly PositionedEvent[] | null>(null)
  const known = useConversation(({ view }) =>
    view.throughSeq !== null && view.lastSeq >= view.throughSeq && view.firstSeq <= 1 ? view.history : null,
  )
  useLoadOlder(events === null)
  if (events === null && known !== null) setEvents(known)
  return events
}
