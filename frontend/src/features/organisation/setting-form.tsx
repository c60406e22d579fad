import { useQuery } from '@tanstack/react-query'
import { useState, type SubmitEvent } from 'react'
import { useTranslation } from 'react-i18next'
import { useSaveValue, type AdministeredValue, type LevelOwner, type SettingName } from '@/api/people/levels'
import { profilesQuery } from '@/api/models/profiles'
import { Button } from '@/ui/form/button'
import { EnforceField } from '@/ui/form/enforce-field'
import { ErrorState } from '@/ui/feedback/error-state'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'
import { Select } from '@/ui/form/select'
import { CHOICES, useSettingTexts } from './use-setting-texts'

export interface SettingFormProps {
  name: SettingName
  owner: LevelOwner
  value: AdministeredValue | undefined
  label: string
  onSaved: () => void
}

/** Sets one value of the organisation or of a team. */
export function SettingForm({ name, owner, value, label, onSaved }: SettingFormProps) {
  const { t } = useTranslation()
  const textOf = useSettingTexts()
  const save = useSaveValue()
  const shared = useSharedModels(name)
  const choices = CHOICES[name] ?? shared
  const [text, setText] = useState(value ? String(value.value) : '')
  const [isEnforced, setIsEnforced] = useState(value?.enforced ?? false)
  // These two settings are always enforced. Without an enforced model, people already choose among the shared
  // models, so a value that can be overridden is not needed. A budget of all members together cannot be
  // overridden by one person.
  const isAlwaysEnforced = name === 'llm_profile' || name === 'monthly_budget'
  const isDollars = name === 'max_budget_per_task' || name === 'monthly_budget'
  const number = Number(text.trim().replace(',', '.'))
  const isValid = choices ? text !== '' : number > 0 && (isDollars || Number.isInteger(number))

  function valueOf() {
    if (name === 'submodules') return text === 'true'
    return choices ? text : number
  }

  function handleSubmit(event: SubmitEvent) {
    event.preventDefault()
    if (!isValid) return
    save.mutate(
      { name, ...owner, value: valueOf(), enforced: isAlwaysEnforced || isEnforced },
      { onSuccess: onSaved },
    )
  }

  return (
    <form onSubmit={handleSubmit} noValidate className="mt-3 flex flex-col gap-3">
      <Field
        label={label}
        hint={t(`organisation.hint_${name}`)}
        error={!isValid && text !== '' ? t('organisation.number_invalid') : undefined}
        className="max-w-md"
      >
        {(control) =>
          choices ? (
            <Select {...control} value={text} onChange={(event) => setText(event.target.value)}>
              <option value="" disabled>
                {t('organisation.choose')}
              </option>
              {choices.map((choice) => (
                <option key={choice} value={choice}>
                  {textOf(name, choice)}
                </option>
              ))}
            </Select>
          ) : (
            <Input
              {...control}
              inputMode="decimal"
              value={text}
              onChange={(event) => setText(event.target.value)}
            />
          )
        }
      </Field>
      {!isAlwaysEnforced && <EnforceField isEnforced={isEnforced} onChange={setIsEnforced} />}
      <div>
        <Button type="submit" variant="primary" size="sm" isBusy={save.isPending} disabled={!isValid}>
          {t('organisation.save')}
        </Button>
      </div>
      {save.error && <ErrorState error={save.error} title={t('organisation.save_failed')} />}
    </form>
  )
}

/** Returns the names of the shared models, if the setting names a model. Otherwise returns undefined. */
function useSharedModels(name: SettingName): string[] | undefined {
  const isModel = name === 'llm_profile'
  const { data } = useQuery({ ...profilesQuery(), enabled: isModel })
  if (!isModel) return undefined
  return (data?.profiles ?? []).filter((profile) => profile.is_shared).map((profile) => profile.name)
}
