import { useTranslation } from 'react-i18next'
import { timestampMs } from '@/events/wire/timestamps'
import { eventIs, type EventOf, type Outcome } from '@/events/wire/types'
import { useConversation } from '@/events/use-conversation'
import { formatElapsed } from '@/lib/text/time'
import { useNow } from '@/lib/hooks/use-now'
import { Badge } from '@/ui/feedback/badge'
import { Spinner } from '@/ui/feedback/spinner'
import { readableText } from '../text/readable-text'
import { OriginalText } from '../text/readable-block'
import type { ToolState } from './tool-card'

/**
 * Returns the state of a tool call. An open call is running only while the agent runs. Otherwise, the call
 * was interrupted.
 */
export function toolState(outcome: Outcome | null, isAgentRunning: boolean): ToolState {
  if (outcome === null) return isAgentRunning ? 'running' : 'unanswered'
  if (eventIs(outcome, 'UserRejectObservation')) return 'rejected'
  if (eventIs(outcome, 'AgentErrorEvent')) return wasInterrupted(outcome) ? 'stopped' : 'failed'
  return outcome.observation.is_error ? 'failed' : 'done'
}

/** Returns whether a stop by the user, or a crash, interrupted the call. The agent cannot correct that. */
function wasInterrupted({ classification }: EventOf<'AgentErrorEvent'>): boolean {
  const { kind, retryable, user_action } = classification ?? {}
  return kind === 'agent_action' && retryable === true && user_action === 'none'
}

/**
 * Shows the elapsed time while the call runs or waits. After a bad end of the call, it shows a word for that.
 */
export function ToolStatus({ state, since }: { state: ToolState; since: string }) {
  const { t } = useTranslation()
  switch (state) {
    case 'running':
      return <RunningFor since={since} />
    case 'failed':
      return <Badge tone="danger">{t('tool.failed')}</Badge>
    case 'rejected':
      return <Badge tone="warning">{t('tool.rejected')}</Badge>
    case 'stopped':
      return <Badge tone="warning">{t('tool.stopped')}</Badge>
    case 'waiting':
      return <Badge tone="warning">{t('tool.waiting')}</Badge>
    case 'waiting_for_client':
      return (
        <>
          <Since since={since} />
          <Badge tone="warning">{t('tool.waiting_for_client')}</Badge>
        </>
      )
    case 'unanswered':
      return <Badge>{t('tool.no_answer')}</Badge>
    case 'done':
      return null
  }
}

function Since({ since }: { since: string }) {
  const isLive = useConversation((state) => state.connection.state === 'open')
  const now = useNow(isLive)
  return isLive ? formatElapsed(now - timestampMs(since)) : null
}

function RunningFor({ since }: { since: string }) {
  const { t } = useTranslation()
  const isLive = useConversation((state) => state.connection.state === 'open')
  if (!isLive) return <Badge>{t('tool.last_seen_running')}</Badge>
  return (
    <>
      <Since since={since} />
      <Spinner className="size-3.5 text-accent" />
      <span className="sr-only">{t('tool.running')}</span>
    </>
  )
}

/**
 * The text with which the runtime tells the agent that the user sent a message and did not approve the
 * action.
 */
const ANSWERED_BY_MESSAGE = 'The user did not approve this and wrote a message instead, which follows.'

/** Explains why there is no observation: the call was not possible, or a user or a hook refused it. */
export function Refusal({ outcome }: { outcome: Outcome | null }) {
  const { t } = useTranslation()
  if (eventIs(outcome, 'AgentErrorEvent')) {
    const tone = wasInterrupted(outcome) ? 'text-muted' : 'text-danger'
    const shown = readableText(t, outcome.error, 'error')
    return (
      <>
        <p className={`px-3 py-2 text-sm break-words whitespace-pre-wrap ${tone}`}>{shown}</p>
        <OriginalText text={outcome.error} shown={shown} />
      </>
    )
  }
  if (eventIs(outcome, 'UserRejectObservation')) {
    if (outcome.rejection_reason === ANSWERED_BY_MESSAGE)
      return <p className="px-3 py-2 text-sm text-warning">{t('tool.rejected_by_message')}</p>
    const who = outcome.rejection_source === 'hook' ? 'tool.rejected_by_hook' : 'tool.rejected_by_user'
    return (
      <p className="px-3 py-2 text-sm">
        <span className="text-warning">{t(who)}</span> {outcome.rejection_reason}
      </p>
    )
  }
  return null
}
