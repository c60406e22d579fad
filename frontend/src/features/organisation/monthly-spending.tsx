import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { spendingLimitsQuery } from '@/api/models/spending'
import { useDollars } from '@/lib/hooks/use-dollars'

/** The total spending of a team in this month. Without a team, the total of the organisation. */
export function MonthlySpending({ teamId }: { teamId: string | null }) {
  const { t } = useTranslation()
  const dollars = useDollars()
  const budget = useQuery(spendingLimitsQuery()).data?.budgets.find((each) => each.team_id === teamId)
  if (!budget) return null
  return <p className="text-xs text-muted">{t('organisation.spent', { amount: dollars(budget.spent) })}</p>
}
