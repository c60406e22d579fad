import { Lock } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import {
  useDeleteValue,
  type AdministeredValue,
  type LevelOwner,
  type SettingName,
} from '@/api/people/levels'
import { Badge } from '@/ui/feedback/badge'
import { Button } from '@/ui/form/button'
import { MonthlySpending } from './monthly-spending'
import { OverrideCounts } from './override-counts'
import { SettingForm } from './setting-form'
import { useSettingTexts } from './use-setting-texts'

export interface SettingRowProps {
  name: SettingName
  owner: LevelOwner
  /** The value at this level. Undefined if the setting has no value at this level. */
  value: AdministeredValue | undefined
}

/** One setting of the organisation or of a team, the people who override it, and the form that changes it. */
export function SettingRow({ name, owner, value }: SettingRowProps) {
  const { t } = useTranslation()
  const textOf = useSettingTexts()
  const remove = useDeleteValue()
  const [isOpen, setIsOpen] = useState(false)
  const label = t(`organisation.name_${name}`)
  return (
    <li className="px-4 py-3">
      <div className="flex flex-wrap items-start gap-x-3 gap-y-2">
        <div className="min-w-0 flex-1 basis-56">
          <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
            <span className="font-medium">{label}</span>
            {value?.enforced && (
              <Badge tone="accent" icon={<Lock />}>
                {t('organisation.enforced')}
              </Badge>
            )}
          </p>
          <p className="text-sm text-muted wrap-anywhere">
            {value ? textOf(name, value.value) : t('organisation.not_set')}
            {value?.set_by && ` · ${t('organisation.set_by', { name: value.set_by })}`}
          </p>
          {value && name === 'monthly_budget' && <MonthlySpending teamId={owner.teamId} />}
          {value && <OverrideCounts value={value} />}
        </div>
        {value && (
          <Button
            size="sm"
            aria-label={t('organisation.remove_named', { name: label })}
            isBusy={remove.isPending}
            onClick={() => remove.mutate({ name, ...owner })}
          >
            {t('organisation.remove')}
          </Button>
        )}
        <Button
          size="sm"
          aria-expanded={isOpen}
          aria-label={t('organisation.change_named', { name: label })}
          onClick={() => setIsOpen(!isOpen)}
        >
          {t(value ? 'organisation.change' : 'organisation.set')}
        </Button>
      </div>
      {isOpen && (
        <SettingForm name={name} owner={owner} value={value} label={label} onSaved={() => setIsOpen(false)} />
      )}
    </li>
  )
}
