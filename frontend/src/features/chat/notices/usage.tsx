import clsx from 'clsx'
import { FoldVertical } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { toast } from 'sonner'
import { useCondense } from '@/api/conversations/steering'
import type { AppConversation } from '@/api/types'
import { useConversation } from '@/events/use-conversation'
import type { TokenUsage } from '@/events/wire/types'
import { DropdownMenu, MenuItem } from '@/ui/overlay/dropdown-menu'
import { useDollars } from '@/lib/hooks/use-dollars'
import { PromptCache } from './prompt-cache'

const WARNING_SHARE = 0.8

type UsedTokens = Pick<TokenUsage, 'prompt_tokens' | 'completion_tokens'>

function tokensOf(used: UsedTokens | null | undefined): number {
  return used ? used.prompt_tokens + used.completion_tokens : 0
}

/**
 * Shows the conversation's cost so far with its limit, and how full the model's context is. The cost of
 * programs in the sandbox is included, and is also shown separately.
 */
export function Usage({ conversation }: { conversation: AppConversation }) {
  const { t, i18n } = useTranslation()
  const dollars = useDollars()
  const logged = useConversation((state) => state.view.usage)
  const usage = logged ?? conversation.metrics
  const tokens = usage?.accumulated_token_usage
  const programs = conversation.program_usage
  const total = tokensOf(tokens) + tokensOf(programs)
  if (total === 0) return null
  const compact = new Intl.NumberFormat(i18n.language, { notation: 'compact', maximumFractionDigits: 1 })
  const inWords = (used: UsedTokens | null | undefined) => ({
    prompt: (used?.prompt_tokens ?? 0).toLocaleString(i18n.language),
    completion: (used?.completion_tokens ?? 0).toLocaleString(i18n.language),
  })
  const cost = (usage?.accumulated_cost ?? 0) + (programs?.cost ?? 0)
  const budget = usage?.max_budget_per_task
  const costText = budget
    ? t('chat.cost_of_budget', { cost: dollars(cost), budget: dollars(budget) })
    : cost > 0 && dollars(cost)
  return (
    <>
      <span className="font-mono tabular-nums" title={t('chat.tokens', inWords(tokens))}>
        {costText && (
          <span className={clsx(budget && cost >= budget * WARNING_SHARE && 'text-warning')}>
            {costText} ·{' '}
          </span>
        )}
        {t('chat.tokens_short', { tokens: compact.format(total) })}
      </span>
      {programs && (
        <span
          className="font-mono tabular-nums"
          title={t('chat.by_programs_detail', { count: programs.calls, ...inWords(programs) })}
        >
          {t('chat.by_programs', {
            amount:
              programs.cost > 0
                ? dollars(programs.cost)
                : t('chat.tokens_short', { tokens: compact.format(tokensOf(programs)) }),
          })}
        </span>
      )}
      {conversation.prompt_cache && <PromptCache cache={conversation.prompt_cache} />}
      {tokens && <ContextMeter conversationId={conversation.id} tokens={tokens} compact={compact} />}
    </>
  )
}

interface ContextMeterProps {
  conversationId: string
  tokens: TokenUsage
  compact: Intl.NumberFormat
}

function ContextMeter({ conversationId, tokens, compact }: ContextMeterProps) {
  const { t } = useTranslation()
  const condense = useCondense(conversationId)
  const { context_window: room = 0, per_turn_token: used = 0 } = tokens
  if (room === 0 || used === 0) return null
  const percent = Math.min(100, Math.round((used / room) * 100))
  const isNearlyFull = used >= room * WARNING_SHARE
  const handleCondense = () =>
    condense.mutate(undefined, { onSuccess: () => toast.success(t('chat.condensed')) })
  return (
    <DropdownMenu
      align="start"
      trigger={
        <button
          type="button"
          className="flex items-center gap-1.5 rounded-sm py-1 hover:text-text"
          title={t('chat.context_detail', { used: compact.format(used), room: compact.format(room) })}
        >
          <span aria-hidden className="h-1.5 w-10 overflow-hidden rounded-full bg-border">
            <span
              className={clsx('block h-full', isNearlyFull ? 'bg-warning' : 'bg-accent')}
              style={{ width: `${percent}%` }}
            />
          </span>
          {t(condense.isPending ? 'chat.condensing' : 'chat.context', { percent })}
        </button>
      }
    >
      <p className="max-w-64 px-2 py-1.5 text-xs text-muted">
        {t('chat.context_detail', { used: compact.format(used), room: compact.format(room) })}{' '}
        {t('chat.condense_hint')}
      </p>
      <MenuItem icon={<FoldVertical />} isDisabled={condense.isPending} onSelect={handleCondense}>
        {t('chat.condense')}
      </MenuItem>
    </DropdownMenu>
  )
}
