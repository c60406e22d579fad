import { useEffect, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { shownView } from '@/events/pages'
import { useConversation, useConversationStore } from '@/events/use-conversation'
import { Notice } from '@/ui/feedback/notice'
import { showsEvent } from '../timeline/rows'

/** Looks for the event that a link leads to, also far before the newest. Says so if it is not in the timeline. */
export function MissingEvent({ eventId }: { eventId: string | null }) {
  const { t } = useTranslation()
  const store = useConversationStore()
  const lookedFor = useRef<string | null>(null)
  const isMissing = useConversation((state) => {
    const { throughSeq, lastSeq } = state.view
    if (eventId === null || throughSeq === null || lastSeq < throughSeq) return false
    return !shownView(state).items.some((item) => showsEvent(item, eventId))
  })
  const wasUndone = useConversation(
    (state) => isMissing && shownView(state).history.some(({ event }) => event.id === eventId),
  )
  const isAbsent = useConversation(
    ({ view, older, absent }) => view.firstSeq <= 1 || older.error !== null || absent === eventId,
  )
  const isLoading = useConversation(({ older }) => older.isLoading)
  useEffect(() => {
    if (eventId === null || !isMissing || wasUndone || isAbsent || isLoading) return
    // Once: the reader may leave the passage.
    if (lookedFor.current === eventId) return
    lookedFor.current = eventId
    void store.openPassage(eventId)
  }, [store, eventId, isMissing, wasUndone, isAbsent, isLoading])
  useEffect(() => () => store.leavePassage(), [store, eventId])
  if (!isMissing || !(isAbsent || wasUndone)) return null
  return (
    <Notice tone="neutral" className="mx-3 mt-3 shrink-0 sm:mx-6">
      {t(wasUndone ? 'chat.linked_event_undone' : 'chat.linked_event_missing')}
    </Notice>
  )
}
