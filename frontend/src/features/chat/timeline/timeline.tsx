import { useVirtualizer } from '@tanstack/react-virtual'
import { ArrowDown } from 'lucide-react'
import clsx from 'clsx'
import { useLayoutEffect, useMemo, useRef, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useConversation, useConversationStore } from '@/events/use-conversation'
import { Button } from '@/ui/form/button'
import { useHighlights } from '../find/use-highlights'
import { RowStateScope } from './row-state'
import { MoreEvents, useMoreEvents } from './more-events'
import { rowOfEvent, type Row } from './rows'
import { TimelineRow } from './timeline-row'
import { AT_END_PX, useAutoScroll } from './use-auto-scroll'

const ESTIMATED_ROW_PX = 90

export interface TimelineProps {
  rows: readonly Row[]
  start: ReactNode
  /** The id of an event that a link leads to. The page scrolls to its row once and marks it. */
  linkedEventId?: string | null
  /** Words that are marked in the rows. */
  foundWords?: string
}

/**
 * The conversation from top to bottom. Only visible rows are in the page. The view follows the end until the
 * user scrolls up.
 */
export function Timeline({ rows, start, linkedEventId = null, foundWords = '' }: TimelineProps) {
  const { t } = useTranslation()
  const scroller = useRef<HTMLDivElement>(null)
  const content = useRef<HTMLDivElement>(null)
  const store = useConversationStore()
  const isAtNow = useConversation((state) => state.passage === null)
  // eslint-disable-next-line react-hooks/incompatible-library -- the list re-renders through the virtualizer's own state
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ESTIMATED_ROW_PX,
    getItemKey: (index) => rows[index]?.key ?? index,
    overscan: 8,
    gap: 16,
    paddingStart: 20,
    paddingEnd: 20,
    anchorTo: 'end',
    followOnAppend: isAtNow,
    scrollEndThreshold: AT_END_PX,
    initialRect: { width: 800, height: 900 },
  })

  useHighlights(content, foundWords)
  const lastKey = rows.at(-1)?.key ?? ''
  const { leftAt, handleScroll, leave } = useAutoScroll(scroller, content, virtualizer, lastKey, isAtNow)
  const loadNear = useMoreEvents(scroller, rows)

  // A user who sends a message wants to see it, so the view scrolls to the end.
  const lastSent = rows.findLast((row) => row.type === 'outgoing')?.key
  useLayoutEffect(() => {
    if (lastSent !== undefined) virtualizer.scrollToEnd()
  }, [lastSent, virtualizer])

  // If a passage of the log is shown, the view can scroll to the end only after the rows are the newest rows.
  const goesToEnd = useRef(false)
  useLayoutEffect(() => {
    if (!isAtNow || !goesToEnd.current) return
    goesToEnd.current = false
    virtualizer.scrollToEnd()
  }, [isAtNow, virtualizer])

  const linkedIndex = useMemo(() => rowOfEvent(rows, linkedEventId), [rows, linkedEventId])
  const shownLink = useRef<string | null>(null)
  useLayoutEffect(() => {
    if (linkedIndex === -1 || shownLink.current === linkedEventId) return
    shownLink.current = linkedEventId
    leave()
    virtualizer.scrollToIndex(linkedIndex, { align: 'center' })
  }, [linkedIndex, linkedEventId, leave, virtualizer])

  return (
    <div className="relative min-h-0 flex-1">
      <div
        ref={scroller}
        onScroll={() => {
          handleScroll()
          loadNear()
        }}
        role="log"
        aria-live="off"
        aria-label={t('chat.timeline')}
        // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a scrolling region must be reachable by keyboard
        tabIndex={0}
        className="h-full overflow-y-auto overscroll-contain focus-visible:-outline-offset-2"
      >
        <div
          ref={content}
          className="relative mx-auto w-full max-w-3xl"
          style={{ height: virtualizer.getTotalSize() }}
        >
          {virtualizer.getVirtualItems().map(({ key, index, start: top }) => {
            const row = rows[index]
            return (
              row && (
                <div
                  key={key}
                  ref={virtualizer.measureElement}
                  data-index={index}
                  className="absolute inset-x-0 top-0 px-4 sm:pr-9 sm:pl-6"
                  style={{ transform: `translateY(${top}px)` }}
                >
                  <RowStateScope rowKey={row.key}>
                    <div
                      aria-current={index === linkedIndex ? 'location' : undefined}
                      className={clsx(
                        index === linkedIndex &&
                          '-m-2 rounded-lg bg-accent-soft p-2 outline-2 outline-accent',
                      )}
                    >
                      <TimelineRow row={row} start={start} />
                    </div>
                  </RowStateScope>
                </div>
              )
            )
          })}
        </div>
      </div>
      <MoreEvents />
      {(leftAt !== null || !isAtNow) && (
        <Button
          size="sm"
          className="absolute bottom-3 left-1/2 -translate-x-1/2 rounded-full shadow-overlay"
          icon={<ArrowDown aria-hidden className="size-3.5" />}
          onClick={() => {
            goesToEnd.current = !isAtNow
            if (isAtNow) virtualizer.scrollToEnd()
            else store.leavePassage()
          }}
        >
          {t(isAtNow && lastKey !== leftAt ? 'chat.new_messages' : 'chat.to_end')}
        </Button>
      )}
    </div>
  )
}
