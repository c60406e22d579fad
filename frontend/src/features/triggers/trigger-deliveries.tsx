import { useInfiniteQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { type Trigger, triggerDeliveriesQuery, type TriggerDelivery } from '@/api/triggers'
import { formatAge } from '@/lib/time'
import { Badge, type Tone } from '@/ui/badge'
import { Button } from '@/ui/button'
import { ErrorState } from '@/ui/error-state'
import { SkeletonList } from '@/ui/skeleton'

const TONES: Record<TriggerDelivery['state'], Tone> = {
  waiting: 'neutral',
  done: 'success',
  ignored: 'neutral',
  failed: 'danger',
}

export function TriggerDeliveries({ trigger }: { trigger: Trigger }) {
  const { t } = useTranslation()
  const query = useInfiniteQuery(triggerDeliveriesQuery(trigger.id))
  const found = query.data?.pages.flatMap((page) => page.items) ?? []
  return (
    <div
      role="region"
      aria-label={t('triggers.deliveries_named', { name: trigger.repository })}
      className="mt-3 rounded-lg bg-sunken px-3 py-1"
    >
      {query.isPending && <SkeletonList rows={2} label={t('triggers.loading')} className="h-10" />}
      {query.isError && !query.data && (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      )}
      {query.data && found.length === 0 && (
        <p className="py-2 text-sm text-muted">{t('triggers.no_deliveries')}</p>
      )}
      <ul className="divide-y divide-border">
        {found.map((delivery) => (
          <DeliveryRow key={delivery.id} delivery={delivery} />
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

function DeliveryRow({ delivery }: { delivery: TriggerDelivery }) {
  const { t } = useTranslation()
  const { number, actor, conversation_id: conversation } = delivery
  return (
    <li className="flex flex-wrap items-start gap-x-4 gap-y-2 py-2">
      <div className="min-w-0 flex-1 basis-52">
        <p className="flex flex-wrap items-center gap-2 text-sm">
          <span className="wrap-anywhere">
            {delivery.event.replaceAll('_', ' ')}
            {number !== null && ` #${number}`}
          </span>
          <Badge tone={TONES[delivery.state]}>{t(`triggers.state_${delivery.state}`)}</Badge>
        </p>
        <p className="text-xs wrap-anywhere text-muted">{`${actor} · ${formatAge(delivery.created_at)}`}</p>
        {delivery.reason && <p className="text-xs wrap-anywhere text-muted">{delivery.reason}</p>}
      </div>
      {conversation && (
        <Link to={`/conversations/${conversation}`} className="text-sm text-accent hover:underline">
          {t('triggers.conversation')}
        </Link>
      )}
    </li>
  )
}
