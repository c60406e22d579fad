import { useQuery } from '@tanstack/react-query'
import { FolderCheck } from 'lucide-react'
import { useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import { toast } from 'sonner'
import { consentsQuery, useRevokeConsent } from '@/api/approval/consent'
import type { Consent } from '@/api/approval/executables'
import { formatAge, formatDateTime } from '@/lib/text/time'
import { Badge } from '@/ui/feedback/badge'
import { Button } from '@/ui/form/button'
import { Card } from '@/ui/layout/card'
import { EmptyState } from '@/ui/feedback/empty-state'
import { ErrorState } from '@/ui/feedback/error-state'
import { SectionHeader } from '@/ui/layout/section-header'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { ExecutableContent } from './executable-content'

/** The user's decisions about executables of repositories, with a way to remove each decision. */
export function ConsentsSection() {
  const { t } = useTranslation()
  const query = useQuery(consentsQuery())
  const repositories = useMemo(() => byRepository(query.data ?? []), [query.data])
  return (
    <section aria-label={t('consents.title')}>
      <SectionHeader title={t('consents.title')} lead={t('consents.lead')} />
      {query.isPending && <SkeletonList rows={3} label={t('consents.loading')} className="h-16" />}
      {query.isError && !query.data && (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      )}
      {query.data?.length === 0 && (
        <Card>
          <EmptyState icon={<FolderCheck />} title={t('consents.empty')}>
            {t('consents.empty_hint')}
          </EmptyState>
        </Card>
      )}
      <div className="flex flex-col gap-6">
        {repositories.map(([repository, consents]) => (
          <section key={repository} aria-label={repository}>
            <h3 className="mb-2 text-sm font-medium break-all">{repository}</h3>
            <Card>
              <ul className="divide-y divide-border">
                {consents.map((consent) => (
                  <ConsentRow key={consent.id} consent={consent} />
                ))}
              </ul>
            </Card>
          </section>
        ))}
      </div>
    </section>
  )
}

function ConsentRow({ consent }: { consent: Consent }) {
  const { t } = useTranslation()
  const revoke = useRevokeConsent()
  const kind = t(`offer.kind.${consent.kind}`)
  const name = consent.name === consent.path ? kind : `${kind} ${consent.name}`
  return (
    <li className="px-4 py-3">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <div className="min-w-0 flex-1">
          <p className="flex flex-wrap items-center gap-2">
            <span className="font-medium wrap-anywhere">{name}</span>
            <Badge tone={consent.decision === 'allowed' ? 'success' : 'neutral'}>
              {t(`consents.decision.${consent.decision}`)}
            </Badge>
          </p>
          <p className="text-xs text-muted" title={formatDateTime(consent.created_at)}>
            {t('consents.answered', { age: formatAge(consent.created_at) })}
          </p>
        </div>
        <Button
          size="sm"
          isBusy={revoke.isPending}
          aria-label={t('consents.revoke_named', { name, repository: consent.repository })}
          onClick={() => revoke.mutate(consent.id, { onSuccess: () => toast.success(t('consents.revoked')) })}
        >
          {t('consents.revoke')}
        </Button>
      </div>
      <details className="mt-2">
        <summary className="cursor-pointer text-xs text-muted hover:text-text">
          {t('consents.show', { path: consent.path })}
        </summary>
        <div className="mt-2">
          <ExecutableContent executable={consent.offer} />
        </div>
      </details>
    </li>
  )
}

function byRepository(consents: Consent[]): [string, Consent[]][] {
  const found = new Map<string, Consent[]>()
  for (const consent of consents)
    found.set(consent.repository, [...(found.get(consent.repository) ?? []), consent])
  return [...found]
}
