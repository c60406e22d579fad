import { useInfiniteQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { type Trigger, triggerDeliveriesQuery, type TriggerDelivery } from '@/api/automation/triggers'
import { formatAge } from '@/lib/text/time'
import type { Tone } from '@/ui/feedback/badge'
import { DeliveryItem, DeliveryList } from '@/ui/feedback/delivery-list'

const TONES: Record<TriggerDelivery['state'], Tone> = {
  waiting: 'neutral',
  done: 'success',
  ignored: 'neutral',
  failed: 'danger',
}

export function TriggerDeliveries({ trigger }: { trigger: Trigger }) {
  const { t } = useTranslation()
  return (
    <DeliveryList
      label={t('triggers.deliveries_named', { name: trigger.repository })}
      loadingLabel={t('triggers.loading')}
      emptyText={t('triggers.no_deliveries')}
      query={useInfiniteQuery(triggerDeliveriesQuery(trigger.id))}
      renderItem={(delivery) => <DeliveryRow key={delivery.id} delivery={delivery} />}
    />
  )
}

function DeliveryRow({ delivery }: { delivery: TriggerDelivery }) {
  const { t } = useTranslation()
  const { number, actor, conversation_id: conversation } = delivery
  return (
    <DeliveryItem
      title={`${delivery.event.replaceAll('_', ' ')}${number === null ? '' : ` #${number}`}`}
      state={t(`triggers.state_${delivery.state}`)}
      tone={TONES[delivery.state]}
      facts={`${actor} · ${formatAge(delivery.created_at)}`}
      reason={delivery.reason && <p className="text-xs wrap-anywhere text-muted">{delivery.reason}</p>}
    >
      {conversation && (
        <Link to={`/conversations/${conversation}`} className="text-sm text-accent hover:underline">
          {t('triggers.conversation')}
        </Link>
      )}
    </DeliveryItem>
  )
}
