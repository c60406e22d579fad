import { useTranslation } from 'react-i18next'
import type { AdministeredItem } from '@/api/people/level-items'
import { Badge } from '@/ui/feedback/badge'
import { Button } from '@/ui/form/button'
import { ItemBadges } from './item-badges'
import { OverrideCounts } from './override-counts'

export interface AdministeredItemRowProps {
  item: AdministeredItem
  onEdit: () => void
  onDelete: () => void
}

/** One item of the organisation or a team, the person who has set it, and the people who override it. */
export function AdministeredItemRow({ item, onEdit, onDelete }: AdministeredItemRowProps) {
  const { t } = useTranslation()
  const { name, description, enforced, mcp_server: server, sandbox_spec: spec, set_by: setBy } = item
  const details = [
    server && (server.url ?? [server.command, ...server.args].join(' ')),
    spec?.base,
    description,
    setBy && t('organisation.set_by', { name: setBy }),
  ].filter(Boolean)
  return (
    <li className="flex flex-wrap items-start gap-x-3 gap-y-2 px-4 py-3">
      <div className="min-w-0 flex-1 basis-56">
        <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <span className="font-mono text-sm font-medium wrap-anywhere">{name}</span>
          <ItemBadges allows={item.allows} enforced={enforced} />
          {spec?.is_default && <Badge>{t('images.default')}</Badge>}
          {server && !server.enabled && <Badge>{t('mcp_servers.off')}</Badge>}
        </p>
        <p className="text-sm text-muted wrap-anywhere">{details.join(' · ')}</p>
        <OverrideCounts value={item} />
      </div>
      <Button size="sm" aria-label={t('level_items.delete_named', { name })} onClick={onDelete}>
        {t('action.delete')}
      </Button>
      <Button size="sm" aria-label={t('organisation.change_named', { name })} onClick={onEdit}>
        {t('organisation.change')}
      </Button>
    </li>
  )
}
