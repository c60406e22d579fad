import { useTranslation } from 'react-i18next'

export interface EnforceFieldProps {
  isEnforced: boolean
  onChange: (isEnforced: boolean) => void
}

/** The field that decides whether lower levels can override a value. */
export function EnforceField({ isEnforced, onChange }: EnforceFieldProps) {
  const { t } = useTranslation()
  return (
    <label className="flex items-center gap-2 text-sm">
      <input
        type="checkbox"
        className="size-4 accent-accent"
        checked={isEnforced}
        onChange={(event) => onChange(event.target.checked)}
      />
      {t('organisation.enforce')}
    </label>
  )
}
