import { useQuery } from '@tanstack/react-query'
import { Store } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import {
  type MarketplaceChange,
  type Marketplaces,
  marketplacesQuery,
  useSaveMarketplaces,
} from '@/api/agents/marketplaces'
import { currentUserQuery, administersInstallation } from '@/api/people/users'
import { Card } from '@/ui/layout/card'
import { EmptyState } from '@/ui/feedback/empty-state'
import { ErrorState } from '@/ui/feedback/error-state'
import { SectionHeader } from '@/ui/layout/section-header'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { MarketplaceForm } from './marketplace-form'
import { MarketplaceRow } from './marketplace-row'

const LISTS: (keyof Marketplaces)[] = ['own', 'shared']

/** The marketplaces: repositories that list plugins and skills. */
export function MarketplacesSection() {
  const { t } = useTranslation()
  const query = useQuery(marketplacesQuery())
  const me = useQuery(currentUserQuery()).data
  const save = useSaveMarketplaces()
  const mayShare = me !== undefined && administersInstallation(me)
  const all = query.data
  return (
    <section aria-label={t('marketplaces.title')}>
      <SectionHeader title={t('marketplaces.title')} lead={t('marketplaces.lead')} />
      {query.isPending && <SkeletonList rows={2} label={t('marketplaces.loading')} className="h-16" />}
      {query.isError && !all && <ErrorState error={query.error} onRetry={() => void query.refetch()} />}
      {all && <MarketplaceForm all={all} mayShare={mayShare} />}
      {save.isError && (
        <div className="mb-5">
          <ErrorState error={save.error} title={t('marketplaces.save_failed')} />
        </div>
      )}
      {all && (
        <Card>
          {all.own.length + all.shared.length === 0 ? (
            <EmptyState icon={<Store />} title={t('marketplaces.empty')}>
              {t('marketplaces.empty_hint')}
            </EmptyState>
          ) : (
            <ul className="divide-y divide-border">{LISTS.flatMap((list) => rows(all, list))}</ul>
          )}
        </Card>
      )}
    </section>
  )

  function rows(marketplaces: Marketplaces, list: keyof Marketplaces) {
    return marketplaces[list].map((marketplace) => (
      <MarketplaceRow
        key={`${list} ${marketplace.name}`}
        marketplace={marketplace}
        isShared={list === 'shared'}
        mayChange={list === 'own' || mayShare}
        isBusy={save.isPending}
        onChange={(changed) =>
          save.mutate(replaced(marketplaces, list, marketplace.name, changed ? [changed] : []))
        }
      />
    ))
  }
}

function replaced(
  all: Marketplaces,
  list: keyof Marketplaces,
  name: string,
  by: Marketplaces['own'],
): MarketplaceChange {
  return { list, marketplaces: all[list].flatMap((each) => (each.name === name ? by : [each])) }
}
