import { useState } from 'react'
import type { PositionedEvent } from '@/events/fold/rewind'
import { useConversation } from '@/events/use-conversation'
import { useLoadOlder } from '@/events/use-load-older'

/**
 * The events that a replay goes through, in their order and without gaps; null until all are there. Events that
 * come later do not change a replay that is open.
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
