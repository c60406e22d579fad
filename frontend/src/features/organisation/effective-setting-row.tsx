import { Lock } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import type { EffectiveSetting } from '@/api/people/levels'
import { Badge } from '@/ui/feedback/badge'
import { useSettingTexts } from './use-setting-texts'

/** One setting of the current user: its value, the level that sets it, and the values that it overrides. */
export function EffectiveSettingRow({ setting }: { setting: EffectiveSetting }) {
  const { t } = useTranslation()
  const textOf = useSettingTexts()
  const { name, value, level, team_name, enforced, overridden } = setting
  return (
    <li className="px-4 py-3">
      <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <span className="font-medium">{t(`organisation.name_${name}`)}</span>
        {level && <Badge>{t(`organisation.by_${level}`, { team: team_name })}</Badge>}
        {enforced && (
          <Badge tone="accent" icon={<Lock />}>
            {t('organisation.enforced')}
          </Badge>
        )}
      </p>
      <p className="text-sm text-muted wrap-anywhere">
        {value === null
          ? t(name === 'llm_profile' ? 'organisation.own_model' : 'organisation.server_default')
          : textOf(name, value)}
      </p>
      {overridden.map((other) => (
        <p key={`${other.level}${other.team_id ?? ''}`} className="text-xs text-muted wrap-anywhere">
          {t(`organisation.instead_${other.level}`, {
            team: other.team_name,
            value: textOf(name, other.value),
          })}
        </p>
      ))}
    </li>
  )
}
