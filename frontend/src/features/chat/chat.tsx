import { useMemo, useState, type ReactNode } from 'react'
import { useConversation } from '@/events/use-conversation'
import { Composer } from './composer'
import { ComposerDraftProvider } from './composer-draft'
import { Confirmation } from './confirmation'
import { ConnectionBanner } from './connection-banner'
import { GoalStrip } from './goal-strip'
import { ItemRendererProvider } from './item-renderer'
import { KeptStateProvider } from './kept-state'
import { countTechnical, firstMessageRow, itemRows, liveRows, type Row } from './rows'
import { McpChanges } from './mcp-changes'
import { RefusedHosts } from './refused-hosts'
import { RetryLine } from './retry-line'
import { SandboxFailure } from './sandbox-failure'
import { ChatSlotsProvider, type ChatSlots } from './slots'
import { StatusLine } from './status-line'
import { Timeline } from './timeline'
import { ItemBody } from './timeline-row'
import { useWaitingMessages } from './use-waiting-messages'

export interface ChatProps {
  conversationId: string
  /** How the conversation came up, shown above its first event. */
  start: ReactNode
  /** What the page adds to rows; the same object from one rendering to the next. */
  slots?: ChatSlots
}

export function Chat({ conversationId, start, slots = NO_SLOTS }: ChatProps) {
  const [showsTechnical, setShowsTechnical] = useState(false)
  useWaitingMessages(conversationId)
  const rows = useRows(showsTechnical)
  const items = useConversation((state) => state.view.items)
  const technicalCount = useMemo(() => countTechnical(items), [items])
  return (
    <ComposerDraftProvider conversationId={conversationId}>
      <div className="flex h-full min-h-0 flex-col">
        <ConnectionBanner />
        <KeptStateProvider>
          <ChatSlotsProvider value={slots}>
            <ItemRendererProvider value={ItemBody}>
              <Timeline rows={rows} start={start} />
            </ItemRendererProvider>
          </ChatSlotsProvider>
        </KeptStateProvider>
        <div className="mx-auto w-full max-w-3xl shrink-0 px-3 pb-3 sm:px-6 sm:pb-4">
          <StatusLine
            technicalCount={technicalCount}
            showsTechnical={showsTechnical}
            onToggleTechnical={() => setShowsTechnical(!showsTechnical)}
          />
          <SandboxFailure />
          <RetryLine />
          <McpChanges />
          <RefusedHosts />
          <Confirmation />
          <GoalStrip />
          <Composer />
        </div>
      </div>
    </ComposerDraftProvider>
  )
}

const NO_SLOTS: ChatSlots = {}
const START_ROW: Row = { type: 'start', key: 'start' }

function useRows(showsTechnical: boolean): Row[] {
  const { items, history, streaming, startTask } = useConversation((state) => state.view)
  const outgoing = useConversation((state) => state.outgoing)
  const settled = useMemo(
    () => [START_ROW, ...firstMessageRow(startTask, history), ...itemRows(items, showsTechnical)],
    [startTask, history, items, showsTechnical],
  )
  return useMemo(() => [...settled, ...liveRows(streaming, outgoing)], [settled, streaming, outgoing])
}
