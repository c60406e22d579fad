import { CircleCheck, Clapperboard, Ellipsis, FlaskConical, Pencil, Trash2, Users } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import type { LLMProfile } from '@/api/types'
import { Badge } from '@/ui/feedback/badge'
import { DropdownMenu, MenuItem, MenuSeparator } from '@/ui/overlay/dropdown-menu'

export interface ModelRowProps {
  profile: LLMProfile
  isActive: boolean
  onActivate: () => void
  onEdit: () => void
  onTest: () => void
  /** Shares the profile, or stops sharing it. It is left out for users who may not share profiles. */
  onShare?: () => void
  onDelete: () => void
}

export function ModelRow(props: ModelRowProps) {
  const { profile, isActive, onActivate, onEdit, onTest, onShare, onDelete } = props
  const { t } = useTranslation()
  const isFixed = profile.is_recording || !profile.is_own
  return (
    <li className="flex items-center gap-4 px-4 py-3">
      <div className="min-w-0 flex-1">
        <p className="flex flex-wrap items-center gap-2 font-medium">
          {profile.name}
          {isActive && (
            <Badge tone="success" icon={<CircleCheck />}>
              {t('models.active')}
            </Badge>
          )}
          {profile.is_recording && (
            <span title={t('models.recorded_hint')}>
              <Badge tone="warning" icon={<Clapperboard />}>
                {t('models.recorded')}
              </Badge>
            </span>
          )}
          {profile.is_shared && (
            <Badge icon={<Users />}>{t(profile.is_own ? 'models.shared' : 'models.shared_by_other')}</Badge>
          )}
          {!profile.is_recording && !profile.api_key_set && <Badge>{t('models.no_key')}</Badge>}
        </p>
        <p className="truncate font-mono text-xs leading-5 text-muted">
          {profile.model}
          {profile.base_url && ` · ${profile.base_url}`}
        </p>
      </div>
      <DropdownMenu
        trigger={
          <button
            type="button"
            aria-label={t('models.actions', { name: profile.name })}
            className="inline-flex size-9 items-center justify-center rounded-md text-muted hover:bg-hover hover:text-text"
          >
            <Ellipsis aria-hidden className="size-4" />
          </button>
        }
      >
        <MenuItem icon={<CircleCheck />} isDisabled={isActive} onSelect={onActivate}>
          {t('models.activate')}
        </MenuItem>
        <MenuItem icon={<Pencil />} isDisabled={isFixed} onSelect={onEdit}>
          {t('action.edit')}
        </MenuItem>
        <MenuItem icon={<FlaskConical />} isDisabled={profile.is_recording} onSelect={onTest}>
          {t('models.test')}
        </MenuItem>
        {onShare && !profile.is_recording && (profile.is_own || profile.is_shared) && (
          <MenuItem icon={<Users />} onSelect={onShare}>
            {t(profile.is_shared ? 'models.stop_sharing' : 'models.share')}
          </MenuItem>
        )}
        <MenuSeparator />
        <MenuItem icon={<Trash2 />} isDanger isDisabled={isFixed} onSelect={onDelete}>
          {t('action.delete')}
        </MenuItem>
      </DropdownMenu>
    </li>
  )
}
