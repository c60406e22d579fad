import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { spendingLimitsQuery } from '@/api/models/spending'
import { useDollars } from '@/lib/hooks/use-dollars'

/** What the members of a team, or everyone here, have spent together in this month. */
export function SpentOfBudget({ teamId }: { teamId: string | null }) {
  const { t } = useTranslation()
  const dollars = useDollars()
  const budget = useQuery(spendingLimitsQuery()).data?.budgets.find((each) => each.team_id === teamId)
  if (!budget) return null
  return <p className="text-xs text-muted">{t('organisation.spent', { amount: dollars(budget.spent) })}</p>
}
