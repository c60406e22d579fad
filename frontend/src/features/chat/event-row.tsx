import { CirclePause, Hand, Scissors } from 'lucide-react'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { agentStatus, CAN_CONTINUE } from '@/events/status'
import { useConversation } from '@/events/use-conversation'
import { eventIs, type ConversationEvent, type EventOf } from '@/events/types'
import { formatDateTime } from '@/lib/time'
import { Notice } from '@/ui/notice'
import { MessageRow } from './bubbles'
import { Refusal } from './outcome'
import { RawEvent } from './raw-event'

/** One event that stands alone in the timeline. A kind we do not know is shown as it is. */
export function EventRow({ event }: { event: ConversationEvent }) {
  const { t } = useTranslation()
  if (eventIs(event, 'MessageEvent')) return <MessageRow event={event} />
  if (eventIs(event, 'ConversationErrorEvent')) return <ConversationError event={event} />
  if (eventIs(event, 'Condensation')) return <CondensationRow event={event} />
  if (eventIs(event, 'PauseEvent'))
    return <Marker icon={<CirclePause aria-hidden />} text={t('marker.paused')} at={event.timestamp} />
  if (eventIs(event, 'InterruptEvent'))
    return <Marker icon={<Hand aria-hidden />} text={t('marker.interrupted')} at={event.timestamp} />
  if (eventIs(event, 'AgentErrorEvent') || eventIs(event, 'UserRejectObservation'))
    return <Refusal outcome={event} />
  if (event.kind === 'ServerErrorEvent') return <ServerError event={event} />
  return <OtherEventRow event={event} />
}

function Marker({ icon, text, at }: { icon: ReactNode; text: string; at: string }) {
  return (
    <div className="flex items-center gap-3 text-xs text-muted before:h-px before:flex-1 before:bg-border after:h-px after:flex-1 after:bg-border">
      <span className="flex items-center gap-1.5 *:[svg]:size-3.5" title={formatDateTime(at)}>
        {icon}
        {text}
      </span>
    </div>
  )
}

function CondensationRow({ event }: { event: EventOf<'Condensation'> }) {
  const { t } = useTranslation()
  return (
    <details>
      <summary className="cursor-pointer list-none rounded-sm">
        <Marker
          icon={<Scissors aria-hidden />}
          text={t('marker.condensed', { count: event.forgotten_event_ids.length })}
          at={event.timestamp}
        />
      </summary>
      {event.summary && <p className="mt-2 text-sm whitespace-pre-wrap text-muted">{event.summary}</p>}
    </details>
  )
}

function ConversationError({ event }: { event: EventOf<'ConversationErrorEvent'> }) {
  const { t } = useTranslation()
  const canContinue = useConversation((state) => CAN_CONTINUE.has(agentStatus(state)))
  const advice = event.classification?.user_action ?? (event.classification?.retryable ? 'retry' : 'other')
  return (
    <Notice tone="danger" title={t('conversation_error.title')}>
      <p className="whitespace-pre-wrap">{event.detail}</p>
      {canContinue && (
        <p className="mt-1 text-text">
          {t(`conversation_error.advice.${advice}`, { defaultValue: t('conversation_error.advice.other') })}
        </p>
      )}
      <p className="mt-1 font-mono text-2xs">{event.code}</p>
    </Notice>
  )
}

function ServerError({ event }: { event: ConversationEvent }) {
  const { t } = useTranslation()
  const { detail, code } = event as { detail?: unknown; code?: unknown }
  return (
    <Notice tone="danger" title={t('conversation_error.server_title')}>
      <p className="whitespace-pre-wrap">{String(detail ?? '')}</p>
      <p className="mt-1 font-mono text-2xs">{String(code ?? '')}</p>
    </Notice>
  )
}

function OtherEventRow({ event }: { event: ConversationEvent }) {
  const detail = eventIs(event, 'ConversationStateUpdateEvent') ? stateUpdateText(event) : null
  return (
    <details className="text-xs text-muted">
      <summary className="w-fit cursor-pointer rounded-sm font-mono hover:text-text">
        {event.kind}
        {detail && <span className="ml-2">{detail}</span>}
      </summary>
      <RawEvent value={event} />
    </details>
  )
}

function stateUpdateText({ key, value }: EventOf<'ConversationStateUpdateEvent'>): string {
  return typeof value === 'string' ? `${key} = ${value}` : key
}
