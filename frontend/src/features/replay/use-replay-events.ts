import { useState } from 'react'
import type { Placed } from '@/events/fold/rewind'
import { useConversation } from '@/events/use-conversation'
import { useOlderWhile } from '@/events/use-older-while'

/**
 * The events that a replay goes through, in their order and without gaps; null until all are there. Events that
 * come later do not change a replay that is open.
 */
export function useReplayEvents(): readonly Placed[] | null {
  const [events, setEvents] = useState<readonly Placed[] | null>(null)
  const known = useConversation(({ view }) =>
    view.throughSeq !== null && view.lastSeq >= view.throughSeq && view.firstSeq <= 1 ? view.history : null,
  )
  useOlderWhile(events === null)
  if (events === null && known !== null) setEvents(known)
  return events
}
