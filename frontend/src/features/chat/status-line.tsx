import { useTranslation } from 'react-i18next'
import { agentStatus, awaitedAnswer, runningSince, type AgentStatus } from '@/events/status'
import { timestampMs } from '@/events/timestamps'
import { useConversation } from '@/events/use-conversation'
import { formatElapsed } from '@/lib/time'
import { useNow } from '@/lib/use-now'
import type { Tone } from '@/ui/badge'
import { StatusDot } from '@/ui/status-dot'

const TONES: Partial<Record<AgentStatus, Tone>> = {
  running: 'accent',
  starting: 'accent',
  sandbox_starting: 'accent',
  waiting_for_confirmation: 'warning',
  paused: 'warning',
  finished: 'success',
  error: 'danger',
  stuck: 'warning',
  start_failed: 'danger',
  sandbox_failed: 'danger',
  sandbox_gone: 'danger',
  sandbox_lost: 'danger',
}
const ACTIVE: ReadonlySet<AgentStatus> = new Set<AgentStatus>(['running', 'starting', 'sandbox_starting'])

export interface StatusLineProps {
  technicalCount: number
  showsTechnical: boolean
  onToggleTechnical: () => void
}

/** What the agent is doing. Without a connection it is only what was last known, and says so. */
export function StatusLine({ technicalCount, showsTechnical, onToggleTechnical }: StatusLineProps) {
  const { t } = useTranslation()
  const status = useConversation(agentStatus)
  const isLive = useConversation((state) => state.connection.state === 'open')
  const awaitedTools = useConversation((state) => awaitedAnswer(state)?.tools ?? null)
  const isWorking = ACTIVE.has(status) && awaitedTools === null
  const name =
    awaitedTools === null ? t(`status.${status}`) : t('status.waiting_for_client', { tools: awaitedTools })
  const text = isLive || status === 'loading' ? name : t('status.last_known', { status: name })
  return (
    <div className="flex min-h-9 flex-wrap items-center gap-x-2 px-1 text-xs text-muted">
      <StatusDot
        tone={(isLive && (awaitedTools === null ? TONES[status] : 'warning')) || 'neutral'}
        label={text}
        isActive={isLive && isWorking}
      />
      <span aria-live="polite" className="shrink-0">
        {text}
      </span>
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

/** What the sandbox of a conversation waits for that has a past: its start is told of far up the page. */
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
