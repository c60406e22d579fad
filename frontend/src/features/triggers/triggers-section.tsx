import { useQuery } from '@tanstack/react-query'
import { Zap } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { triggersQuery, type TriggerWithSecret } from '@/api/automation/triggers'
import { Card } from '@/ui/layout/card'
import { EmptyState } from '@/ui/feedback/empty-state'
import { ErrorState } from '@/ui/feedback/error-state'
import { SectionHeader } from '@/ui/layout/section-header'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { AddTrigger } from './add-trigger'
import { SetUpDialog } from './set-up-dialog'
import { TriggerRow } from './trigger-row'

/** The triggers: events at git hosts that start conversations on this server. */
export function TriggersSection() {
  const { t } = useTranslation()
  const query = useQuery(triggersQuery())
  const [shown, setShown] = useState<TriggerWithSecret | null>(null)
  return (
    <section aria-label={t('triggers.title')}>
      <SectionHeader title={t('triggers.title')} lead={t('triggers.lead')} />
      <AddTrigger onAdded={setShown} />
      {query.isPending && <SkeletonList rows={2} label={t('triggers.loading')} className="h-16" />}
      {query.isError && !query.data && (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      )}
      {query.data && (
        <Card>
          {query.data.length === 0 ? (
            <EmptyState icon={<Zap />} title={t('triggers.empty')}>
              {t('triggers.empty_hint')}
            </EmptyState>
          ) : (
            <ul className="divide-y divide-border">
              {query.data.map((trigger) => (
                <TriggerRow key={trigger.id} trigger={trigger} onSecret={setShown} />
              ))}
            </ul>
          )}
        </Card>
      )}
      {shown && <SetUpDialog trigger={shown} onClose={() => setShown(null)} />}
    </section>
  )
}
