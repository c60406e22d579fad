import { useTranslation } from 'react-i18next'

export interface OverrideCountsProps {
  value: { overriding_teams: string[]; overriding_people: number }
}

/** Says which teams and how many people override a value. */
export function OverrideCounts({ value }: OverrideCountsProps) {
  const { t } = useTranslation()
  const { overriding_people: people, overriding_teams: teams } = value
  return (
    <>
      {teams.length > 0 && (
        <p className="text-xs text-muted wrap-anywhere">
          {t('organisation.overriding_teams', { names: teams.join(', ') })}
        </p>
      )}
      {people > 0 && (
        <p className="text-xs text-muted">{t('organisation.overriding_people', { count: people })}</p>
      )}
    </>
  )
}
