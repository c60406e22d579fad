import { Lock } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { Badge } from '@/ui/feedback/badge'

export interface ItemBadgesProps {
  /** Whether a rule of the network allows the host or denies it. Null for other items. */
  allows: boolean | null
  enforced: boolean
}

/** What kind of rule an item is, and whether lower levels can override it. */
export function ItemBadges({ allows, enforced }: ItemBadgesProps) {
  const { t } = useTranslation()
  return (
    <>
      {allows !== null && (
        <Badge tone={allows ? 'success' : 'danger'}>
          {t(allows ? 'level_items.allowed' : 'level_items.denied')}
        </Badge>
      )}
      {enforced && (
        <Badge tone="accent" icon={<Lock />}>
          {t('organisation.enforced')}
        </Badge>
      )}
    </>
  )
}
