import { useEffect, type RefObject } from 'react'
import clsx from 'clsx'
import { useTranslation } from 'react-i18next'
import { useConversation, useConversationStore } from '@/events/use-conversation'
import { Button } from '@/ui/form/button'
import { Spinner } from '@/ui/feedback/spinner'
import type { Row } from './rows'

/** The distance from an end of the list at which more events are loaded. */
const NEAR_PX = 1500

/**
 * Returns a function that loads more events when the scroller is near an end. Also fills a list that is too
 * short to scroll.
 */
export function useMoreEvents(scroller: RefObject<HTMLElement | null>, rows: readonly Row[]): () => void {
  const store = useConversationStore()
  const load = (isNearStart: boolean, isNearEnd: boolean) => {
    const { older, passage } = store.getState()
    if (isNearStart && older.error === null) void store.loadOlder()
    if (isNearEnd && passage?.newer.error === null) void store.loadNewer()
  }
  useEffect(() => {
    const element = scroller.current
    if (element !== null && element.scrollHeight <= element.clientHeight) load(true, true)
    // eslint-disable-next-line react-hooks/exhaustive-deps -- `load` reads the store, whatever rendering it is of
  }, [scroller, store, rows])
  return () => {
    const element = scroller.current
    if (element === null) return
    const { scrollTop, scrollHeight, clientHeight } = element
    load(scrollTop < NEAR_PX, scrollHeight - clientHeight - scrollTop < NEAR_PX)
  }
}

/** The row at an end of the list. It says that more events are loading, or why they could not be loaded. */
export function MoreEvents() {
  const { t } = useTranslation()
  const store = useConversationStore()
  const older = useConversation((state) => state.older)
  const newer = useConversation((state) => state.passage?.newer)
  return (
    <>
      {(older.isLoading || older.error !== null) && (
        <PageState
          className="top-2"
          isLoading={older.isLoading}
          text={t(older.isLoading ? 'chat.older_loading' : 'chat.older_failed')}
          onRetry={() => void store.loadOlder()}
        />
      )}
      {newer !== undefined && (newer.isLoading || newer.error !== null) && (
        <PageState
          className="bottom-12"
          isLoading={newer.isLoading}
          text={t(newer.isLoading ? 'chat.newer_loading' : 'chat.newer_failed')}
          onRetry={() => void store.loadNewer()}
        />
      )}
    </>
  )
}

interface PageStateProps {
  className: string
  isLoading: boolean
  text: string
  onRetry: () => void
}

function PageState({ className, isLoading, text, onRetry }: PageStateProps) {
  const { t } = useTranslation()
  return (
    <div
      role="status"
      className={clsx(
        'absolute left-1/2 flex -translate-x-1/2 items-center gap-2 rounded-full border border-border bg-raised px-3 py-1 text-xs whitespace-nowrap text-muted shadow-overlay',
        className,
      )}
    >
      {isLoading && <Spinner className="size-3.5" />}
      {text}
      {!isLoading && (
        <Button size="sm" variant="ghost" onClick={onRetry}>
          {t('action.retry')}
        </Button>
      )}
    </div>
  )
}
