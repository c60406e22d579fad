import { useTranslation } from 'react-i18next'
import { isActive, statusText, statusTone } from '@/api/conversations/conversation-status'
import { agentStatusParts, agentStatus, awaitedAnswer, runningSince, type AgentStatus } from '@/events/status'
import { timestampMs } from '@/events/wire/timestamps'
import { useConversation } from '@/events/use-conversation'
import { formatElapsed } from '@/lib/text/time'
import { useNow } from '@/lib/hooks/use-now'
import { StatusDot } from '@/ui/feedback/status-dot'

/** The statuses whose name alone does not tell the user how to continue. */
const HINTED: ReadonlySet<AgentStatus> = new Set<AgentStatus>(['stuck', 'sandbox_asleep', 'sandbox_archived'])

export interface StatusLineProps {
  technicalCount: number
  showsTechnical: boolean
  onToggleTechnical: () => void
}

/** The agent's status. Without a connection, shows the last known status and says so. */
export function StatusLine({ technicalCount, showsTechnical, onToggleTechnical }: StatusLineProps) {
  const { t } = useTranslation()
  const status = useConversation(agentStatus)
  const word = useConversation((state) => statusText(t, agentStatusParts(state)))
  const tone = useConversation((state) => statusTone(agentStatusParts(state)))
  const isLive = useConversation((state) => state.connection.state === 'open')
  const awaitedTools = useConversation((state) => awaitedAnswer(state)?.tools ?? null)
  const text = isLive || status === 'loading' ? word : t('status.last_known', { status: word })
  return (
    <div className="flex min-h-9 flex-wrap items-center gap-x-2 px-1 text-xs text-muted">
      <StatusDot
        tone={isLive ? (awaitedTools === null ? tone : 'warning') : 'neutral'}
        label={text}
        isActive={isLive && awaitedTools === null && isActive(status)}
      />
      <span aria-live="polite" className="shrink-0">
        {text}
      </span>
      {isLive && awaitedTools !== null && (
        <span aria-live="polite">{t('status.waiting_for_client', { tools: awaitedTools })}</span>
      )}
      {isLive && HINTED.has(status) && <span>{t(`status.hint.${status}`)}</span>}
      {isLive && <Elapsed />}
      {isLive && status === 'starting' && <Waiting />}
      {technicalCount > 0 && (
        <button
          type="button"
          aria-pressed={showsTechnical}
          onClick={onToggleTechnical}
          className="ml-auto rounded-sm py-1 hover:text-text"
        >
          {t(showsTechnical ? 'chat.hide_technical' : 'chat.show_technical', { count: technicalCount })}
        </button>
      )}
    </div>
  )
}

/**
 * Says what the sandbox of a conversation with events waits for. In such a conversation, the row of the start
 * is far above and not visible.
 */
function Waiting() {
  const detail = useConversation(({ view: { startTask, items } }) =>
    startTask?.status === 'WAITING_FOR_SANDBOX' && items.length > 0 ? startTask.detail : null,
  )
  return (
    detail && (
      <span aria-live="polite" className="order-last basis-full pb-1.5">
        {detail}
      </span>
    )
  )
}

function Elapsed() {
  const since = useConversation((state) => awaitedAnswer(state)?.since ?? runningSince(state))
  const now = useNow(since !== null)
  if (since === null) return null
  return <span className="font-mono tabular-nums">{formatElapsed(now - timestampMs(since))}</span>
}
