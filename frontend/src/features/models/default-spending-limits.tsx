import { useQuery } from '@tanstack/react-query'
import { useId } from 'react'
import { useTranslation } from 'react-i18next'
import {
  spendingLimitsQuery,
  useAllowSpending,
  useFollowDefault,
  type LimitPerPeriod,
  type UserLimit,
} from '@/api/models/spending'
import { administersInstallation, currentUserQuery } from '@/api/people/users'
import { useDollars } from '@/lib/hooks/use-dollars'
import { Button } from '@/ui/form/button'
import { Card } from '@/ui/layout/card'
import { ErrorState } from '@/ui/feedback/error-state'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { LimitForm } from './limit-form'

/** For administrators: the default spending limit of all users, and the limits of single users. */
export function DefaultSpendingLimits() {
  const { t } = useTranslation()
  const me = useQuery(currentUserQuery()).data
  const query = useQuery(spendingLimitsQuery())
  const title = useId()
  return (
    <section aria-labelledby={title} className="mt-10">
      <h3 id={title} className="text-base font-semibold">
        {t('spending.default_title')}
      </h3>
      <p className="mt-1 mb-4 max-w-lg text-sm text-muted">{t('spending.default_lead')}</p>
      {query.isPending && <SkeletonList rows={1} label={t('spending.loading')} className="h-28" />}
      {query.isError && !query.data && (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      )}
      {query.data && (
        <Card>
          {me && administersInstallation(me) && <Default limit={query.data.default} />}
          <ul className="divide-y divide-border border-t border-border">
            {query.data.users.map((user) => (
              <User key={keyOf(user)} user={user} />
            ))}
          </ul>
        </Card>
      )}
    </section>
  )
}

function Default({ limit }: { limit: LimitPerPeriod }) {
  const { t } = useTranslation()
  const save = useAllowSpending()
  return (
    <div className="px-4 pb-4">
      <LimitForm
        limit={limit}
        label={t('spending.default_limit')}
        periodLabel={t('spending.default_period')}
        action={t('spending.default_set')}
        save={save}
      />
    </div>
  )
}

function User({ user }: { user: UserLimit }) {
  const { t } = useTranslation()
  const dollars = useDollars()
  const save = useAllowSpending(user.user_id)
  const follow = useFollowDefault(user.user_id)
  const { name, limit, period, spent, follows_default } = user
  return (
    <li className="px-4 py-3">
      <details>
        <summary className="cursor-pointer">
          <span className="font-medium wrap-anywhere">{name}</span>
          <span className="block text-sm text-muted">
            {t(limit === null ? `spending.spent_${period}` : `spending.spent_of_${period}`, {
              spent: dollars(spent),
              allowed: dollars(limit ?? 0),
            })}{' '}
            {t(follows_default ? 'spending.as_default' : 'spending.own_limit')}
          </span>
        </summary>
        <LimitForm
          limit={user}
          label={t('spending.user_limit', { name })}
          periodLabel={t('spending.default_period')}
          action={t('spending.user_set', { name })}
          save={save}
        />
        {!follows_default && (
          <Button size="sm" className="mt-3" isBusy={follow.isPending} onClick={() => follow.mutate()}>
            {t('spending.follow_default')}
          </Button>
        )}
      </details>
    </li>
  )
}

/**
 * Returns a key that changes with the stored limit. A new key makes the form start again with the stored
 * values.
 */
function keyOf({ user_id, limit, period, follows_default }: UserLimit) {
  return [user_id, limit, period, follows_default].join()
}
