import { CirclePause, CornerDownRight, Hand, Scissors, Shuffle } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { forkedOf } from '@/events/fold/forked'
import { restoredOf } from '@/events/fold/restored'
import { rewindOf } from '@/events/fold/rewind'
import { proofOf } from '@/events/fold/proof'
import { llmFallback, type LLMFallback } from '@/events/fold/fallback'
import { eventIs, type ConversationEvent, type EventOf } from '@/events/wire/types'
import { UNREADABLE } from '@/events/wire/well-formed'
import { Notice } from '@/ui/feedback/notice'
import { MessageRow } from './message-rows'
import { ConversationError } from '../notices/conversation-error'
import { HookRow } from './hook-row'
import { Markdown } from '../text/markdown'
import { Marker, ExpandableMarker } from './marker'
import { Refusal } from '../tools/outcome'
import { ProofRow } from './proof-row'
import { ForkedRow } from './forked-row'
import { RawEvent } from './raw-event'
import { RestoredRow } from './restored-row'
import { RewindRow } from './rewind-row'
import { contentText } from './rows'

/** One event that has a separate row. An event of an unknown kind is shown as JSON. */
export function EventRow({ event }: { event: ConversationEvent }) {
  const { t } = useTranslation()
  if (eventIs(event, 'MessageEvent'))
    return event.source === 'environment' ? <NudgeRow event={event} /> : <MessageRow event={event} />
  if (eventIs(event, 'ConversationErrorEvent')) return <ConversationError event={event} />
  if (eventIs(event, 'Condensation')) return <CondensationRow event={event} />
  if (eventIs(event, 'PauseEvent'))
    return <Marker icon={<CirclePause aria-hidden />} text={t('marker.paused')} at={event.timestamp} />
  if (eventIs(event, 'InterruptEvent'))
    return <Marker icon={<Hand aria-hidden />} text={t('marker.interrupted')} at={event.timestamp} />
  if (eventIs(event, 'AgentErrorEvent') || eventIs(event, 'UserRejectObservation'))
    return <Refusal outcome={event} />
  if (eventIs(event, 'HookExecutionEvent')) return <HookRow event={event} />
  if (event.kind === UNREADABLE) return <p className="text-xs text-muted">{t('chat.unreadable_event')}</p>
  if (event.kind === 'ServerErrorEvent') return <ServerError event={event} />
  const rewind = rewindOf(event)
  if (rewind !== null) return <RewindRow rewind={rewind} at={event.timestamp} />
  const restored = restoredOf(event)
  if (restored !== null) return <RestoredRow restored={restored} />
  const forked = forkedOf(event)
  if (forked !== null) return <ForkedRow forked={forked} at={event.timestamp} />
  const proof = proofOf(event)
  if (proof !== null) return <ProofRow proof={proof} />
  const fallback = llmFallback(event)
  if (fallback !== null) return <FallbackRow fallback={fallback} at={event.timestamp} />
  return <OtherEventRow event={event} />
}

function CondensationRow({ event }: { event: EventOf<'Condensation'> }) {
  const { t } = useTranslation()
  const marker = {
    icon: <Scissors aria-hidden />,
    text: t('marker.condensed', { count: event.forgotten_event_ids.length }),
    at: event.timestamp,
  }
  if (!event.summary) return <Marker {...marker} />
  return (
    <ExpandableMarker {...marker}>
      <Markdown text={event.summary} />
    </ExpandableMarker>
  )
}

/** A message from the runtime to the agent, for example that the agent repeats itself. */
function NudgeRow({ event }: { event: EventOf<'MessageEvent'> }) {
  const { t } = useTranslation()
  return (
    <ExpandableMarker icon={<CornerDownRight aria-hidden />} text={t('marker.nudged')} at={event.timestamp}>
      <p className="whitespace-pre-wrap">{contentText(event.llm_message.content)}</p>
    </ExpandableMarker>
  )
}

function FallbackRow({ fallback, at }: { fallback: LLMFallback; at: string }) {
  const { t } = useTranslation()
  return (
    <ExpandableMarker
      icon={<Shuffle aria-hidden />}
      text={t('marker.fallback', { model: fallback.model })}
      at={at}
    >
      <ul className="space-y-1.5">
        {fallback.passed_over.map(({ model, code, detail }) => (
          <li key={model} className="wrap-anywhere">
            <span className="font-mono text-xs text-text">{model}</span>{' '}
            {t(`retry.why.${code}`, { defaultValue: t('retry.why.other') })}.
            <span className="block text-xs">{detail}</span>
          </li>
        ))}
      </ul>
    </ExpandableMarker>
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
