import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { networkSettingsQuery, useSetNetwork } from '@/api/sandboxes/network'
import { Card } from '@/ui/layout/card'
import { ErrorState } from '@/ui/feedback/error-state'
import { Notice } from '@/ui/feedback/notice'
import { SectionHeader } from '@/ui/layout/section-header'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { Credentials } from './credentials'
import { NetworkForm } from './network-form'
import { NetworkRecords } from './network-records'
import { Repositories } from './repositories'

/** The settings for the network of sandboxes, for all tasks and by repository, and a list of the calls. */
export function NetworkSection() {
  const { t } = useTranslation()
  const query = useQuery(networkSettingsQuery())
  const save = useSetNetwork()
  return (
    <section aria-label={t('network.title')}>
      <SectionHeader title={t('network.title')} lead={t('network.lead')} />
      {query.isPending && <SkeletonList rows={3} label={t('network.loading')} className="h-16" />}
      {query.isError && !query.data && (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      )}
      {query.data && (
        <div className="flex flex-col gap-8">
          {!query.data.is_enforced && (
            <Notice tone="warning" title={t('network.not_enforced')}>
              {t('network.not_enforced_hint')}
            </Notice>
          )}
          <Card className="p-4">
            <NetworkForm
              label={t('network.for_all')}
              setting={query.data}
              defaultMode={query.data.default_mode}
              save={save}
            />
            <details className="mt-4 text-sm">
              <summary className="cursor-pointer text-muted hover:text-text">
                {t('network.default_hosts', { count: query.data.default_hosts.length })}
              </summary>
              <p className="mt-2 font-mono text-xs leading-relaxed wrap-anywhere text-muted">
                {query.data.default_hosts.join(', ')}
              </p>
            </details>
          </Card>
          <Repositories settings={query.data} />
          <Credentials />
          <NetworkRecords />
        </div>
      )}
    </section>
  )
}
