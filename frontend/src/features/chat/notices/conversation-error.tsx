import { Trans, useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { agentStatus, CAN_CONTINUE } from '@/events/status'
import { useConversation } from '@/events/use-conversation'
import type { EventOf } from '@/events/wire/types'
import { Notice } from '@/ui/feedback/notice'
import { BudgetActions } from './budget-actions'
import { SpendingActions } from './spending-actions'

/** Explains why a run ended. Until the conversation continues, it also says what the user can do. */
export function ConversationError({ event }: { event: EventOf<'ConversationErrorEvent'> }) {
  const { t } = useTranslation()
  const canContinue = useConversation((state) => CAN_CONTINUE.has(agentStatus(state)))
  return (
    <Notice
      tone={DECIDED.has(event.code) ? 'warning' : 'danger'}
      title={t(TITLES[event.code] ?? 'conversation_error.title')}
    >
      <p className="whitespace-pre-wrap">{event.detail}</p>
      {canContinue && (
        <p className="mt-1 text-text">
          <Trans
            i18nKey={`conversation_error.advice.${advice(event)}`}
            components={{ models: <Link to="/settings/models" className="text-accent underline" /> }}
          />
        </p>
      )}
      {canContinue && BUDGET_CODES.has(event.code) && <BudgetActions />}
      {canContinue && event.code === LIMIT_REACHED && <SpendingActions />}
      <p className="mt-1 font-mono text-2xs">{event.code}</p>
    </Notice>
  )
}

const BUDGET_REACHED = 'MaxBudgetReached'
const LIMIT_REACHED = 'LLMSpendingLimitError'
const ADMINISTRATOR_LIMIT_REACHED = 'AdministratorLimitReached'
const DECIDED: ReadonlySet<string> = new Set([BUDGET_REACHED, LIMIT_REACHED, ADMINISTRATOR_LIMIT_REACHED])
const TITLES: Partial<
  Record<string, `conversation_error.${'budget' | 'limit' | 'administrator_limit'}_title`>
> = {
  [BUDGET_REACHED]: 'conversation_error.budget_title',
  [LIMIT_REACHED]: 'conversation_error.limit_title',
  [ADMINISTRATOR_LIMIT_REACHED]: 'conversation_error.administrator_limit_title',
}
const BUDGET_CODES: ReadonlySet<string> = new Set([BUDGET_REACHED, 'PriceUnknown'])

const ADVICE_BY_CODE: Partial<Record<string, string>> = {
  [ADMINISTRATOR_LIMIT_REACHED]: 'ask_administrator',
  log_full: 'new_conversation',
  LLMAuthenticationError: 'check_credentials',
  LLMBudgetError: 'top_up',
  LLMContentPolicyError: 'rephrase',
  LLMContextWindowError: 'shorten',
  LLMNotAvailableError: 'other_model',
  LLMSpendingLimitError: 'raise_limit',
  MaxBudgetReached: 'raise_budget',
  MaxIterationsReached: 'go_on',
  PriceUnknown: 'price_unknown',
}
const ADVICE_BY_ACTION: Partial<Record<string, string>> = {
  settings: 'check_settings',
  retry: 'retry',
}

/**
 * Returns the advice that fits the error. The code is more exact than the classification. But newer servers
 * may send unknown codes.
 */
function advice({ code, classification }: EventOf<'ConversationErrorEvent'>): string {
  const { user_action, retryable = false } = classification ?? {}
  return ADVICE_BY_CODE[code] ?? ADVICE_BY_ACTION[user_action ?? ''] ?? (retryable ? 'retry' : 'other')
}
