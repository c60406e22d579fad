import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { retentionQuery } from '@/api/automation/retention'
import { currentUserQuery, administersInstallation } from '@/api/people/users'
import { ErrorState } from '@/ui/feedback/error-state'
import { Notice } from '@/ui/feedback/notice'
import { SectionHeader } from '@/ui/layout/section-header'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { RetentionForm } from './retention-form'

/** The setting that decides how long conversations without activity are kept. */
export function RetentionSection() {
  const { t } = useTranslation()
  const me = useQuery(currentUserQuery()).data
  return (
    <section aria-label={t('retention.title')}>
      <SectionHeader title={t('retention.title')} lead={t('retention.lead')} />
      {me && !administersInstallation(me) && (
        <Notice tone="neutral">{t('retention.administrators_only')}</Notice>
      )}
      {me && administersInstallation(me) && <Rule />}
    </section>
  )
}

function Rule() {
  const { t } = useTranslation()
  const query = useQuery(retentionQuery())
  if (query.data) return <RetentionForm setting={query.data} />
  if (query.isError) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  return <SkeletonList rows={2} label={t('retention.loading')} className="h-16" />
}
