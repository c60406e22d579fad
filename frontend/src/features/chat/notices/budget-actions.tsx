import { useTranslation } from 'react-i18next'
import { useRaiseBudget } from '@/api/conversations/steering'
import { useConversation } from '@/events/use-conversation'
import { Button } from '@/ui/form/button'
import { useComposerDraft } from '../composer/composer-draft'
import { useDollars } from '@/lib/hooks/use-dollars'

/**
 * Ways to continue after the budget is spent. The user can add the same amount again, add several times the
 * amount, or remove the limit.
 */
export function BudgetActions() {
  const { t } = useTranslation()
  const dollars = useDollars()
  const { conversationId } = useComposerDraft()
  const raise = useRaiseBudget(conversationId)
  const usage = useConversation((state) => state.view.usage ?? state.view.conversation?.metrics)
  const budget = usage?.max_budget_per_task
  const programs = useConversation((state) => state.view.conversation?.program_usage)
  const spent = (usage?.accumulated_cost ?? 0) + (programs?.cost ?? 0)
  const steps = budget ? [budget, budget * 5] : []
  return (
    <div className="mt-2 flex flex-wrap gap-2">
      {steps.map((step, index) => (
        <Button
          key={step}
          variant={index === 0 ? 'primary' : undefined}
          isBusy={raise.isPending && raise.variables === spent + step}
          disabled={raise.isPending}
          onClick={() => raise.mutate(spent + step)}
        >
          {t('conversation_error.continue_with', { amount: dollars(step) })}
        </Button>
      ))}
      <Button
        isBusy={raise.isPending && raise.variables === null}
        disabled={raise.isPending}
        onClick={() => raise.mutate(null)}
      >
        {t('conversation_error.continue_without')}
      </Button>
    </div>
  )
}
