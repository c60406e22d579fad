import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { spendingLimitQuery, useSpendMore } from '@/api/models/spending'
import { useDollars } from '@/lib/hooks/use-dollars'
import { Button } from '@/ui/form/button'
import { useComposerDraft } from '../composer/composer-draft'

/**
 * Ways to continue after the user's spending limit is reached. The user can add a fifth of the limit, or the
 * whole limit once more. Both apply to the present period only.
 */
export function SpendingActions() {
  const { t } = useTranslation()
  const dollars = useDollars()
  const { conversationId } = useComposerDraft()
  const { data } = useQuery(spendingLimitQuery())
  const more = useSpendMore(conversationId)
  const steps = data?.limit ? [data.limit / 5, data.limit] : []
  return (
    <div className="mt-2 flex flex-wrap gap-2">
      {steps.map((step, index) => (
        <Button
          key={step}
          variant={index === 0 ? 'primary' : undefined}
          isBusy={more.isPending && more.variables === step}
          disabled={more.isPending}
          onClick={() => more.mutate(step)}
        >
          {t('conversation_error.continue_with', { amount: dollars(step) })}
        </Button>
      ))}
    </div>
  )
}
