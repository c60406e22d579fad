import { useTranslation } from 'react-i18next'
import { useConversation } from '@/events/use-conversation'
import { useOlderWhile } from '@/events/use-older-while'
import { Notice } from '@/ui/feedback/notice'
import { showsEvent } from '../timeline/rows'

/** Looks for the event that a link leads to, also among older events. Says so if it is not in the timeline. */
export function MissingEvent({ eventId }: { eventId: string | null }) {
  const { t } = useTranslation()
  const isMissing = useConversation(({ view }) => {
    if (eventId === null || view.throughSeq === null || view.lastSeq < view.throughSeq) return false
    return !view.items.some((item) => showsEvent(item, eventId))
  })
  const wasUndone = useConversation(
    ({ view }) => isMissing && view.history.some(({ event }) => event.id === eventId),
  )
  const isWhole = useConversation(({ view, older }) => view.firstSeq <= 1 || older.error !== null)
  useOlderWhile(isMissing && !wasUndone)
  if (!isMissing || !(isWhole || wasUndone)) return null
  return (
    <Notice tone="neutral" className="mx-3 mt-3 shrink-0 sm:mx-6">
      {t(wasUndone ? 'chat.linked_event_undone' : 'chat.linked_event_missing')}
    </Notice>
  )
}
