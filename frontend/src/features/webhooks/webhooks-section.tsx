import { useQuery } from '@tanstack/react-query'
import { Webhook } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { callbacksQuery, type CallbackWithSecret } from '@/api/automation/callbacks'
import { Card } from '@/ui/layout/card'
import { CopyDialog } from '@/ui/overlay/copy-dialog'
import { EmptyState } from '@/ui/feedback/empty-state'
import { ErrorState } from '@/ui/feedback/error-state'
import { SectionHeader } from '@/ui/layout/section-header'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { AddWebhookForm } from './add-webhook-form'
import { WebhookRow } from './webhook-row'

/** The callbacks to which events of conversations are sent. */
export function WebhooksSection() {
  const { t } = useTranslation()
  const query = useQuery(callbacksQuery())
  const [shown, setShown] = useState<CallbackWithSecret | null>(null)
  return (
    <section aria-label={t('webhooks.title')}>
      <SectionHeader title={t('webhooks.title')} lead={t('webhooks.lead')} />
      <AddWebhookForm onAdded={setShown} />
      {query.isPending && <SkeletonList rows={2} label={t('webhooks.loading')} className="h-16" />}
      {query.isError && !query.data && (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      )}
      {query.data && (
        <Card>
          {query.data.length === 0 ? (
            <EmptyState icon={<Webhook />} title={t('webhooks.empty')}>
              {t('webhooks.empty_hint')}
            </EmptyState>
          ) : (
            <ul className="divide-y divide-border">
              {query.data.map((callback) => (
                <WebhookRow key={callback.id} callback={callback} onSecret={setShown} />
              ))}
            </ul>
          )}
        </Card>
      )}
      {shown?.secret && (
        <CopyDialog
          title={t('webhooks.secret_title')}
          description={t('webhooks.secret_text')}
          value={shown.secret}
          label={shown.name}
          copyLabel={t('webhooks.copy_secret')}
          onClose={() => setShown(null)}
        />
      )}
    </section>
  )
}
