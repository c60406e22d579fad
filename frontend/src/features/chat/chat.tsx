import { useQuery } from '@tanstack/react-query'
import { useCallback, useMemo, useRef, useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { isImported, isWithoutSandbox } from '@/api/conversations/conversation-status'
import { conversationQuery, useAccess } from '@/api/conversations/conversations'
import { currentUserQuery, mayWork } from '@/api/people/users'
import { shownView } from '@/events/pages'
import { useConversation } from '@/events/use-conversation'
import { Notice } from '@/ui/feedback/notice'
import { Composer } from './composer/composer'
import { ComposerDraftProvider } from './composer/composer-draft'
import { Confirmation } from './approval/confirmation'
import { FindBar } from './find/find-bar'
import { useFind } from './find/use-find'
import { useFindKeys } from './find/use-find-keys'
import { ConnectionBanner } from './notices/connection-banner'
import { MissingEvent } from './notices/missing-event'
import { GoalStrip } from './notices/goal-strip'
import { ItemRendererProvider } from './timeline/item-renderer'
import { RowStateProvider } from './timeline/row-state'
import {
  countTechnical,
  firstMessageRow,
  isTechnicalEvent,
  itemRows,
  liveRows,
  type Row,
} from './timeline/rows'
import { McpChanges } from './approval/mcp-changes'
import { McpQuestions } from './approval/mcp-questions'
import { RefusedHosts } from './notices/refused-hosts'
import { RetryLine } from './notices/retry-line'
import { SandboxFailure } from './notices/sandbox-failure'
import { RowActionsProvider, type RowActions } from './timeline/row-actions'
import { StatusLine } from './notices/status-line'
import { Timeline } from './timeline/timeline'
import { ItemBody } from './timeline/timeline-row'
import { useWaitingMessages } from './composer/use-waiting-messages'

export interface ChatProps {
  conversationId: string
  /** The progress of the start, shown above the first event. */
  start: ReactNode
  /** Controls that the page adds to rows. It must be the same object at each rendering. */
  rowActions?: RowActions
  /** The id of the event that the page's address names. */
  linkedEventId?: string | null
  find: FindControl
}

/**
 * The state of the search in the conversation. The page holds it, because the menu of the page opens the
 * search, too.
 */
export interface FindControl {
  isOpen: boolean
  /** A counter that grows each time the user opens the search. */
  asked: number
  onOpen: () => void
  onClose: () => void
}

export function Chat({
  conversationId,
  start,
  rowActions = NO_ROW_ACTIONS,
  linkedEventId = null,
  find,
}: ChatProps) {
  const { t } = useTranslation()
  const user = useQuery(currentUserQuery()).data
  const isReader = user !== undefined && !mayWork(user)
  const access = useAccess(conversationId)
  const known = useQuery(conversationQuery(conversationId)).data
  const isClosed = known !== undefined && isWithoutSandbox(known)
  const maySteer = access !== 'view' && !isReader && !isClosed
  const isOwn = access === 'own'
  const [choice, setShowsTechnical] = useState<boolean | null>(null)
  useWaitingMessages(conversationId)
  const items = useConversation((state) => shownView(state).items)
  const chat = useRef<HTMLDivElement>(null)
  const { isOpen, onOpen, onClose } = find
  const search = useFind(conversationId, isOpen)
  const shownEventId = search.match?.event_id ?? linkedEventId
  const handleClose = useCallback(() => {
    onClose()
    chat.current?.querySelector<HTMLElement>('[role=log]')?.focus()
  }, [onClose])
  useFindKeys(chat, isOpen, onOpen, handleClose)
  // A link may lead to a technical event. Then the technical events are shown.
  const leadsToTechnical = useMemo(() => isTechnicalEvent(items, shownEventId), [items, shownEventId])
  const showsTechnical = choice ?? leadsToTechnical
  const rows = useRows(showsTechnical)
  const technicalCount = useMemo(() => countTechnical(items), [items])
  return (
    <ComposerDraftProvider conversationId={conversationId}>
      <div ref={chat} className="flex h-full min-h-0 flex-col">
        {isOpen && <FindBar find={search} asked={find.asked} onClose={handleClose} />}
        <ConnectionBanner />
        <MissingEvent eventId={shownEventId} />
        <RowStateProvider>
          <RowActionsProvider value={rowActions}>
            <ItemRendererProvider value={ItemBody}>
              <Timeline rows={rows} start={start} linkedEventId={shownEventId} foundWords={search.words} />
            </ItemRendererProvider>
          </RowActionsProvider>
        </RowStateProvider>
        <div className="mx-auto w-full max-w-3xl shrink-0 px-3 pb-3 sm:px-6 sm:pb-4">
          <StatusLine
            technicalCount={technicalCount}
            showsTechnical={showsTechnical}
            onToggleTechnical={() => setShowsTechnical(!showsTechnical)}
          />
          <SandboxFailure />
          <RetryLine />
          {isOwn && !isClosed && <McpChanges />}
          {access !== 'view' && <McpQuestions />}
          {isOwn && !isClosed && <RefusedHosts />}
          {access !== 'view' && !isClosed && <Confirmation />}
          {access !== 'view' && <GoalStrip />}
          {maySteer ? (
            <Composer />
          ) : (
            <Notice tone="neutral">
              {isClosed
                ? t(isImported(known) ? 'chat.imported' : 'chat.sandbox_deleted')
                : access === 'view'
                  ? t('chat.shared_to_read', { name: known?.owner_name })
                  : t('chat.read_only')}
            </Notice>
          )}
        </div>
      </div>
    </ComposerDraftProvider>
  )
}

const NO_ROW_ACTIONS: RowActions = {}
const START_ROW: Row = { type: 'start', key: 'start' }

function useRows(showsTechnical: boolean): Row[] {
  const { items, history, firstSeq } = useConversation(shownView)
  const { streaming, startTask } = useConversation((state) => state.view)
  const outgoing = useConversation((state) => state.outgoing)
  const isNow = useConversation((state) => state.passage === null)
  const settled = useMemo(() => {
    // The row of the start and the first message belong before the first event. They are shown only if the
    // first event is loaded.
    const before = firstSeq > 1 ? [] : [START_ROW, ...firstMessageRow(startTask, history)]
    return [...before, ...itemRows(items, showsTechnical)]
  }, [startTask, history, items, firstSeq, showsTechnical])
  return useMemo(
    () => (isNow ? [...settled, ...liveRows(streaming, outgoing)] : settled),
    [isNow, settled, streaming, outgoing],
  )
}
