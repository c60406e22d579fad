import { useEffect, type RefObject } from 'react'
import { useTranslation } from 'react-i18next'
import { useConversation, useConversationStore } from '@/events/use-conversation'
import { Button } from '@/ui/form/button'
import { Spinner } from '@/ui/feedback/spinner'
import type { Row } from './rows'

/** So far from the first row, the rows before it are loaded. */
const NEAR_START_PX = 1500

/** Returns a function that loads older events when the scroller is near its start. Also fills a list that is too short to scroll. */
export function useOlderEvents(scroller: RefObject<HTMLElement | null>, rows: readonly Row[]): () => void {
  const store = useConversationStore()
  useEffect(() => {
    const element = scroller.current
    if (
      element !== null &&
      element.scrollHeight <= element.clientHeight &&
      store.getState().older.error === null
    )
      void store.loadOlder()
  }, [scroller, store, rows])
  return () => {
    const element = scroller.current
    if (element !== null && element.scrollTop < NEAR_START_PX && store.getState().older.error === null)
      void store.loadOlder()
  }
}

/** Says that older events are on their way, or why they are not. */
export function OlderEvents() {
  const { t } = useTranslation()
  const store = useConversationStore()
  const { isLoading, error } = useConversation((state) => state.older)
  if (!isLoading && error === null) return null
  return (
    <div
      role="status"
      className="absolute top-2 left-1/2 flex -translate-x-1/2 items-center gap-2 rounded-full border border-border bg-raised px-3 py-1 text-xs whitespace-nowrap text-muted shadow-overlay"
    >
      {isLoading && <Spinner className="size-3.5" />}
      {t(isLoading ? 'chat.older_loading' : 'chat.older_failed')}
      {!isLoading && (
        <Button size="sm" variant="ghost" onClick={() => void store.loadOlder()}>
          {t('action.retry')}
        </Button>
      )}
    </div>
  )
}
