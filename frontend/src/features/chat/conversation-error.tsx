import { Trans, useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { agentStatus, CAN_CONTINUE } from '@/events/status'
import { useConversation } from '@/events/use-conversation'
import type { ErrorClassification, EventOf } from '@/events/types'
import { Notice } from '@/ui/notice'

/** Why a run ended, and what to do about it for as long as it has not gone on. */
export function ConversationError({ event }: { event: EventOf<'ConversationErrorEvent'> }) {
  const { t } = useTranslation()
  const canContinue = useConversation((state) => CAN_CONTINUE.has(agentStatus(state)))
  return (
    <Notice tone="danger" title={t('conversation_error.title')}>
      <p className="whitespace-pre-wrap">{event.detail}</p>
      {canContinue && (
        <p className="mt-1 text-text">
          <Trans
            i18nKey={`conversation_error.advice.${advice(event.classification)}`}
            components={{ models: <Link to="/settings/models" className="text-accent underline" /> }}
          />
        </p>
      )}
      <p className="mt-1 font-mono text-2xs">{event.code}</p>
    </Notice>
  )
}

const ADVICE_BY_KIND: Partial<Record<string, string>> = {
  authentication: 'check_credentials',
  configuration: 'other_model',
  context_window: 'shorten',
  limit: 'go_on',
}
const ADVICE_BY_ACTION: Partial<Record<string, string>> = {
  check_credentials: 'check_credentials',
  check_settings: 'check_settings',
  check_budget: 'top_up',
  raise_budget: 'raise_budget',
  condense: 'shorten',
  rephrase: 'rephrase',
  retry: 'retry',
}

/** Which advice fits. The kind says more than the action where both are known; newer servers may know others. */
function advice(classification: ErrorClassification | null | undefined): string {
  const { kind = '', user_action, retryable = false } = classification ?? {}
  return ADVICE_BY_KIND[kind] ?? ADVICE_BY_ACTION[user_action ?? ''] ?? (retryable ? 'retry' : 'other')
}
