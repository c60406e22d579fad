import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { providerOverviewQuery, type ProviderOverview as Provider } from '@/api/people/identities'
import { currentUserQuery, administersInstallation } from '@/api/people/users'
import { Badge } from '@/ui/feedback/badge'
import { ErrorState } from '@/ui/feedback/error-state'
import { Notice } from '@/ui/feedback/notice'
import { Card } from '@/ui/layout/card'
import { SectionHeader } from '@/ui/layout/section-header'
import { CommandLine } from './command-line'

/**
 * The identity providers, and the addresses to register there. Only for administrators. Shows nothing if
 * there are no providers.
 */
export function ProviderOverview() {
  const { t } = useTranslation()
  const me = useQuery(currentUserQuery()).data
  const query = useQuery({
    ...providerOverviewQuery(),
    enabled: me !== undefined && administersInstallation(me),
  })
  if (query.isPending || query.data?.length === 0) return null
  return (
    <section aria-label={t('providers.title')} className="mt-10">
      <SectionHeader title={t('providers.title')} lead={t('providers.lead')} />
      {query.isError && !query.data && (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      )}
      {query.data && (
        <Card>
          <ul className="divide-y divide-border">
            {query.data.map((provider) => (
              <ProviderRow key={provider.name} provider={provider} />
            ))}
          </ul>
        </Card>
      )}
    </section>
  )
}

function ProviderRow({ provider }: { provider: Provider }) {
  const { t } = useTranslation()
  const { title, protocol, issuer, addresses, problem } = provider
  return (
    <li className="flex flex-col gap-3 px-4 py-3">
      <div className="min-w-0">
        <p className="flex flex-wrap items-center gap-2 font-medium">
          {title} <Badge>{t(`providers.${protocol}`)}</Badge>
        </p>
        <p className="text-xs wrap-anywhere text-muted">{issuer}</p>
      </div>
      {problem && (
        <Notice tone="danger" title={problem.detail}>
          {problem.fix}
        </Notice>
      )}
      <dl className="flex flex-col gap-2">
        {addresses.map(({ purpose, url }) => (
          <div key={purpose}>
            <dt className="mb-1 text-xs text-muted">{t(`providers.${purpose}`)}</dt>
            <dd>
              <CommandLine command={url} prompt={null} />
            </dd>
          </div>
        ))}
      </dl>
    </li>
  )
}
