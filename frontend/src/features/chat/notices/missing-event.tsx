import { useEffect, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import type { ConversationView } from '@/events/fold/reduce'
import { shownView } from '@/events/pages'
import { useConversation, useConversationStore } from '@/events/use-conversation'
import { Notice } from '@/ui/feedback/notice'
import { showsEvent } from '../timeline/rows'

/**
 * Loads the event that a link leads to, also if it is far before the newest event. Says so if the event is
 * not in the timeline.
 */
export function MissingEvent({ eventId }: { eventId: string | null }) {
  const { t } = useTranslation()
  const store = useConversationStore()
  const lookedFor = useRef<string | null>(null)
  const isLoaded = useConversation(({ view }) => view.throughSeq !== null && view.lastSeq >= view.throughSeq)
  const isShown = useConversation((state) => eventId !== null && isIn(shownView(state), eventId))
  const isMissing = eventId !== null && isLoaded && !isShown
  const wasUndone = useConversation(
    (state) => isMissing && shownView(state).history.some(({ event }) => event.id === eventId),
  )
  const isAbsent = useConversation(({ view, absent }) => view.firstSeq <= 1 || absent === eventId)
  const hasFailed = useConversation(({ older }) => older.error !== null)
  const isLoading = useConversation(({ older }) => older.isLoading)
  useEffect(() => {
    if (isShown) lookedFor.current = eventId
    // Each event is searched for only once, because the user may leave the passage.
    if (eventId === null || !isMissing || lookedFor.current === eventId) return
    if (isIn(store.getState().view, eventId)) {
      store.leavePassage()
    } else if (!wasUndone && !isAbsent && !isLoading) {
      lookedFor.current = eventId
      void store.openPassage(eventId)
    }
  }, [store, eventId, isShown, isMissing, wasUndone, isAbsent, isLoading])
  useEffect(() => {
    if (eventId === null) store.leavePassage()
  }, [store, eventId])
  useEffect(() => () => store.leavePassage(), [store])
  if (!isMissing || !(isAbsent || hasFailed || wasUndone)) return null
  return (
    <Notice tone="neutral" className="mx-3 mt-3 shrink-0 sm:mx-6">
      {t(wasUndone ? 'chat.linked_event_undone' : 'chat.linked_event_missing')}
    </Notice>
  )
}

const isIn = (view: ConversationView, eventId: string) => view.items.some((item) => showsEvent(item, eventId))
