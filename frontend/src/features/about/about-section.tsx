import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { currentUserQuery } from '@/api/people/users'
import { webClientConfigQuery } from '@/api/web-client-config'
import type { WebClientConfig } from '@/api/types'
import { Badge } from '@/ui/feedback/badge'
import { Card } from '@/ui/layout/card'
import { SectionHeader } from '@/ui/layout/section-header'

export function AboutSection() {
  const { t } = useTranslation()
  const config = useQuery(webClientConfigQuery()).data
  const user = useQuery(currentUserQuery()).data
  return (
    <section aria-label={t('about.title')}>
      <SectionHeader title={t('about.title')} />
      <Card>
        <dl className="divide-y divide-border">
          <Row term={t('about.version')}>
            <span className="font-mono text-sm">{config?.version}</span>
          </Row>
          <Row term={t('about.sandbox')}>
            {config && t(`about.sandbox_${config.sandbox.backend}`)}
            {config && (
              <Badge tone={config.sandbox.is_isolated ? 'success' : 'warning'}>
                {t(`about.isolation_${config.sandbox.isolation}`)}
              </Badge>
            )}
          </Row>
          <Row term={t('about.workspace')}>{config && <WorkspaceLimit limit={config.workspace_limit} />}</Row>
          <Row term={t('about.user')}>
            {user?.name}
            {user && <Badge>{user.role}</Badge>}
          </Row>
        </dl>
      </Card>
    </section>
  )
}

function WorkspaceLimit({ limit }: { limit: WebClientConfig['workspace_limit'] }) {
  const { t } = useTranslation()
  return (
    <>
      {limit.bytes !== null && t('about.workspace_size', { size: (limit.bytes / 1024 ** 3).toFixed(1) })}
      <Badge tone={limit.kept_by === 'disk' ? 'success' : 'warning'}>
        {t(`about.workspace_kept_by_${limit.kept_by}`)}
      </Badge>
    </>
  )
}

function Row({ term, children }: { term: string; children: ReactNode }) {
  return (
    <div className="flex flex-wrap items-center justify-between gap-4 px-4 py-3">
      <dt className="text-sm text-muted">{term}</dt>
      <dd className="flex items-center gap-2">{children}</dd>
    </div>
  )
}
