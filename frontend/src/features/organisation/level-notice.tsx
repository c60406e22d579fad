import { useTranslation } from 'react-i18next'
import type { EffectiveSetting } from '@/api/people/levels'
import { Notice } from '@/ui/feedback/notice'
import { useSettingTexts } from './use-setting-texts'

/** Says who has set a setting, the organisation or a team, and whether the user can change it. */
export function LevelNotice({ setting }: { setting: EffectiveSetting }) {
  const { t } = useTranslation()
  const textOf = useSettingTexts()
  const { name, value, level, team_name: team, enforced } = setting
  if (value === null || level === null || level === 'user') return null
  return (
    <Notice
      tone="neutral"
      className="mb-6"
      title={t(`organisation.set_by_${level}`, {
        setting: t(`organisation.name_${name}`),
        value: textOf(name, value),
        team,
      })}
    >
      {t(enforced ? 'organisation.locked' : 'organisation.yours_counts')}
    </Notice>
  )
}
