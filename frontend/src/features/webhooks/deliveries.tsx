import { useInfiniteQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { type Callback, deliveriesQuery, type Delivery, useRedeliver } from '@/api/callbacks'
import { formatAge, formatDateTime } from '@/lib/time'
import { Badge, type Tone } from '@/ui/badge'
import { Button } from '@/ui/button'
import { ErrorState } from '@/ui/error-state'
import { SkeletonList } from '@/ui/skeleton'

const TONES: Record<Delivery['state'], Tone> = {
  waiting: 'neutral',
  delivered: 'success',
  failed: 'danger',
}

export function Deliveries({ callback }: { callback: Callback }) {
  const { t } = useTranslation()
  const query = useInfiniteQuery(deliveriesQuery(callback.id))
  const found = query.data?.pages.flatMap((page) => page.items) ?? []
  return (
    <div
      role="region"
      aria-label={t('webhooks.deliveries_named', { name: callback.name })}
      className="mt-3 rounded-lg bg-sunken px-3 py-1"
    >
      {query.isPending && <SkeletonList rows={2} label={t('webhooks.loading')} className="h-10" />}
      {query.isError && !query.data && (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      )}
      {query.data && found.length === 0 && (
        <p className="py-2 text-sm text-muted">{t('webhooks.no_deliveries')}</p>
      )}
      <ul className="divide-y divide-border">
        {found.map((delivery) => (
          <DeliveryRow key={delivery.id} callback={callback} delivery={delivery} />
        ))}
      </ul>
      {query.hasNextPage && (
        <Button
          size="sm"
          className="my-2"
          isBusy={query.isFetchingNextPage}
          onClick={() => void query.fetchNextPage()}
        >
          {t('action.load_more')}
        </Button>
      )}
    </div>
  )
}

function DeliveryRow({ callback, delivery }: { callback: Callback; delivery: Delivery }) {
  const { t } = useTranslation()
  const redeliver = useRedeliver(callback.id)
  const facts = [
    formatAge(delivery.created_at),
    t('webhooks.position', { seq: delivery.seq }),
    delivery.attempts > 0 && t('jobs.attempts', { count: delivery.attempts }),
    delivery.status_code && t('webhooks.answered', { status: delivery.status_code }),
    delivery.duration_ms !== null && `${delivery.duration_ms} ms`,
    delivery.next_attempt_at &&
      delivery.attempts > 0 &&
      t('webhooks.next', { date: formatDateTime(delivery.next_attempt_at) }),
  ]
  return (
    <li className="flex flex-wrap items-start gap-x-4 gap-y-2 py-2">
      <div className="min-w-0 flex-1 basis-52">
        <p className="flex flex-wrap items-center gap-2 text-sm">
          <span className="wrap-anywhere">{delivery.event_kind}</span>
          <Badge tone={TONES[delivery.state]}>{t(`webhooks.state_${delivery.state}`)}</Badge>
        </p>
        <p className="text-xs text-muted">{facts.filter(Boolean).join(' · ')}</p>
        {delivery.error && <p className="text-xs wrap-anywhere text-danger">{delivery.error}</p>}
      </div>
      {delivery.state !== 'waiting' && callback.is_enabled && (
        <Button
          size="sm"
          isBusy={redeliver.isPending}
          aria-label={t('webhooks.redeliver_named', { kind: delivery.event_kind, seq: delivery.seq })}
          onClick={() => redeliver.mutate(delivery.id)}
        >
          {t('webhooks.redeliver')}
        </Button>
      )}
    </li>
  )
}
