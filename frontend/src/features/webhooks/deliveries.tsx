import { useInfiniteQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { type Callback, deliveriesQuery, type Delivery, useRedeliver } from '@/api/automation/callbacks'
import { formatAge, formatDateTime } from '@/lib/text/time'
import type { Tone } from '@/ui/feedback/badge'
import { Button } from '@/ui/form/button'
import { DeliveryItem, DeliveryList } from '@/ui/feedback/delivery-list'

const TONES: Record<Delivery['state'], Tone> = {
  waiting: 'neutral',
  delivered: 'success',
  failed: 'danger',
}

export function Deliveries({ callback }: { callback: Callback }) {
  const { t } = useTranslation()
  return (
    <DeliveryList
      label={t('webhooks.deliveries_named', { name: callback.name })}
      loadingLabel={t('webhooks.loading')}
      emptyText={t('webhooks.no_deliveries')}
      query={useInfiniteQuery(deliveriesQuery(callback.id))}
      renderItem={(delivery) => <DeliveryRow key={delivery.id} callback={callback} delivery={delivery} />}
    />
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
    <DeliveryItem
      title={delivery.event_kind}
      state={t(`webhooks.state_${delivery.state}`)}
      tone={TONES[delivery.state]}
      facts={facts.filter(Boolean).join(' · ')}
      reason={delivery.error && <p className="text-xs wrap-anywhere text-danger">{delivery.error}</p>}
    >
      {delivery.started_conversation_id && (
        <Link
          to={`/conversations/${delivery.started_conversation_id}`}
          className="text-sm text-accent hover:underline"
        >
          {t('triggers.conversation')}
        </Link>
      )}
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
    </DeliveryItem>
  )
}
