import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { inheritedItemsQuery, type InheritedItem, type ItemKind } from '@/api/people/level-items'
import { Badge } from '@/ui/feedback/badge'
import { ErrorState } from '@/ui/feedback/error-state'
import { Card } from '@/ui/layout/card'
import { ItemBadges } from './item-badges'

/**
 * The items that the current user inherits from the organisation and the teams. Shows nothing if there are
 * none.
 */
export function InheritedItems({ kind }: { kind: ItemKind }) {
  const { t } = useTranslation()
  const query = useQuery(inheritedItemsQuery())
  const items = query.data?.filter((item) => item.kind === kind) ?? []
  if (query.isError && !query.data) {
    return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  }
  if (items.length === 0) return null
  return (
    <section aria-label={t(`level_items.given_${kind}`)} className="mt-10">
      <h3 className="text-base font-semibold">{t(`level_items.given_${kind}`)}</h3>
      <p className="mt-1 mb-3 max-w-lg text-sm text-muted">{t(`level_items.given_lead_${kind}`)}</p>
      <Card>
        <ul className="divide-y divide-border">
          {items.map((item) => (
            <InheritedRow key={`${item.level}${item.team_name ?? ''}${item.name}`} item={item} />
          ))}
        </ul>
      </Card>
    </section>
  )
}

function InheritedRow({ item }: { item: InheritedItem }) {
  const { t } = useTranslation()
  const {
    name,
    description,
    level,
    team_name: team,
    enforced,
    overridden_by: overriddenBy,
    sandbox_spec: spec,
  } = item
  const details = [spec?.base, description].filter(Boolean)
  return (
    <li className="px-4 py-3">
      <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <span className="font-mono text-sm font-medium wrap-anywhere">{name}</span>
        <Badge>{t(`organisation.by_${level}`, { team })}</Badge>
        <ItemBadges allows={item.allows} enforced={enforced} />
        {spec?.is_default && <Badge>{t('images.default')}</Badge>}
      </p>
      {details.length > 0 && <p className="text-sm text-muted wrap-anywhere">{details.join(' · ')}</p>}
      {overriddenBy && <p className="text-xs text-muted">{t(`level_items.overridden_by_${overriddenBy}`)}</p>}
      {enforced && !overriddenBy && (
        <p className="text-xs text-muted">{t(`level_items.locked_${item.kind}`)}</p>
      )}
    </li>
  )
}
