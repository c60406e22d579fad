import { memo, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { TimelineItem } from '@/events/fold/reduce'
import { agentStatus } from '@/events/status'
import { useConversation } from '@/events/use-conversation'
import { originalOf } from '@/events/wire/well-formed'
import { ErrorBoundary } from '@/ui/feedback/error-boundary'
import { OutgoingRow, StreamingRow, UserBubble } from './message-rows'
import { EventMenu } from './event-menu'
import { EventRow } from './event-row'
import { GoalRow } from './goal-row'
import { useRowState } from './row-state'
import { RawEvent } from './raw-event'
import type { Row } from './rows'
import { ToolRow } from '../tools/tool-row'
import { useOutgoing } from '../composer/use-outgoing'

export interface TimelineRowProps {
  row: Row
  /** The content of the row of type `start`. */
  start: ReactNode
}

/** One row of the timeline, of any type. If its renderer throws an error, the other rows are not affected. */
export const TimelineRow = memo(function TimelineRow({ row, start }: TimelineRowProps) {
  switch (row.type) {
    case 'start':
      return start
    case 'item':
      return <ItemRow item={row.item} />
    case 'streaming':
      return <StreamingRow item={row.item} />
    case 'outgoing':
      return <OwnOutgoingRow message={row.message} />
    case 'first_message':
      return <FirstMessageRow text={row.text} />
  }
})

function FirstMessageRow({ text }: { text: string }) {
  const { t } = useTranslation()
  const hasFailed = useConversation((state) => agentStatus(state) === 'start_failed')
  return <UserBubble text={text} footer={t(hasFailed ? 'chat.outgoing.held' : 'chat.outgoing.queued')} />
}

function OwnOutgoingRow({ message }: { message: Extract<Row, { type: 'outgoing' }>['message'] }) {
  const { retry, takeBack, withdraw } = useOutgoing()
  return <OutgoingRow message={message} onRetry={retry} onDiscard={takeBack} onWithdraw={withdraw} />
}

/** The content of a row, without the controls beside it. */
export function ItemBody({ item }: { item: TimelineItem }) {
  switch (item.type) {
    case 'tool':
      return <ToolRow item={item} />
    case 'goal':
      return <GoalRow item={item} />
    case 'event':
      return <EventRow event={item.event} />
  }
}

function ItemRow({ item }: { item: TimelineItem }) {
  const { t } = useTranslation()
  const [showsRaw, setShowsRaw] = useRowState('raw', false)
  return (
    <div className="group/row relative">
      <ErrorBoundary
        title={t('chat.row_failed')}
        fallback={<p className="text-xs text-muted">{t('chat.row_failed')}</p>}
      >
        <ItemBody item={item} />
      </ErrorBoundary>
      <EventMenu item={item} showsRaw={showsRaw} onToggleRaw={() => setShowsRaw(!showsRaw)} />
      {showsRaw && (
        <>
          <RawEvent value={item.type === 'tool' ? item.action : originalOf(item.event)} />
          {item.type === 'tool' && item.outcome && <RawEvent value={item.outcome} />}
        </>
      )}
    </div>
  )
}
