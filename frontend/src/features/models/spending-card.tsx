import { useQuery } from '@tanstack/react-query'
import { ShieldCheck } from 'lucide-react'
import { useId } from 'react'
import { useTranslation } from 'react-i18next'
import {
  spendingLimitQuery,
  useSetSpendingLimit,
  type AdministeredLimit,
  type SpendingLimit,
} from '@/api/models/spending'
import { useDollars } from '@/lib/hooks/use-dollars'
import { Card } from '@/ui/layout/card'
import { ErrorState } from '@/ui/feedback/error-state'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { LimitForm } from './limit-form'

/** The user's spending limit for all conversations together. */
export function SpendingCard() {
  const { t } = useTranslation()
  const query = useQuery(spendingLimitQuery())
  const save = useSetSpendingLimit()
  const title = useId()
  return (
    <section aria-labelledby={title} className="mt-10">
      <h3 id={title} className="text-base font-semibold">
        {t('spending.title')}
      </h3>
      <p className="mt-1 mb-4 max-w-lg text-sm text-muted">{t('spending.lead')}</p>
      {query.isPending && <SkeletonList rows={1} label={t('spending.loading')} className="h-28" />}
      {query.isError && !query.data && (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      )}
      {query.data && (
        <Card className="p-4">
          <Spent limit={query.data} />
          {query.data.administered && <Administered limit={query.data.administered} />}
          <LimitForm
            limit={query.data}
            label={t('spending.limit')}
            periodLabel={t('spending.period')}
            action={t('action.save')}
            save={save}
          />
        </Card>
      )}
    </section>
  )
}

function Spent({ limit: { limit, raised, spent, period } }: { limit: SpendingLimit }) {
  const { t } = useTranslation()
  const dollars = useDollars()
  const allowed = limit === null ? null : limit + raised
  return (
    <>
      <p className="text-sm">
        {t(allowed === null ? `spending.spent_${period}` : `spending.spent_of_${period}`, {
          spent: dollars(spent),
          allowed: dollars(allowed ?? 0),
        })}
        {raised > 0 && (
          <span className="text-muted"> {t('spending.raised', { amount: dollars(raised) })}</span>
        )}
      </p>
      {allowed !== null && (
        <progress
          aria-label={t('spending.progress')}
          value={Math.min(spent, allowed)}
          max={allowed}
          className="mt-2 block h-1.5 w-full appearance-none overflow-hidden rounded-full bg-hover [&::-moz-progress-bar]:bg-accent [&::-webkit-progress-bar]:bg-hover [&::-webkit-progress-value]:bg-accent"
        />
      )}
    </>
  )
}

/** The limit of an administrator. It applies in addition to the user's limit. */
function Administered({ limit: { limit, spent, period } }: { limit: AdministeredLimit }) {
  const { t } = useTranslation()
  const dollars = useDollars()
  return (
    <p className="mt-3 flex items-start gap-2 text-sm text-muted">
      <ShieldCheck aria-hidden className="mt-0.5 size-4 shrink-0" />
      {t(`spending.administered_${period}`, { allowed: dollars(limit ?? 0), spent: dollars(spent) })}
    </p>
  )
}
