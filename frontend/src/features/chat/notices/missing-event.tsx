import { useTranslation } from 'react-i18next'
import { useConversation } from '@/events/use-conversation'
import { Notice } from '@/ui/feedback/notice'
import { showsEvent } from '../timeline/rows'

/** Says that a link leads to an event that is not in the timeline. */
export function MissingEvent({ eventId }: { eventId: string | null }) {
  const { t } = useTranslation()
  const isMissing = useConversation(({ view }) => {
    if (eventId === null || view.throughSeq === null || view.lastSeq < view.throughSeq) return false
    return !view.items.some((item) => showsEvent(item, eventId))
  })
  const wasUndone = useConversation(
    ({ view }) => isMissing && view.history.some(({ event }) => event.id === eventId),
  )
  if (!isMissing) return null
  return (
    <Notice tone="neutral" className="mx-3 mt-3 shrink-0 sm:mx-6">
      {t(wasUndone ? 'chat.linked_event_undone' : 'chat.linked_event_missing')}
    </Notice>
  )
}
