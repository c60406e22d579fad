import { useState } from 'react'
import { useForm } from 'react-hook-form'
import { useTranslation } from 'react-i18next'
import { useSaveLevelItem, type AdministeredItem } from '@/api/people/level-items'
import { Button } from '@/ui/form/button'
import { EnforceField } from '@/ui/form/enforce-field'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'
import { ErrorState } from '@/ui/feedback/error-state'
import { DialogActions } from '@/ui/overlay/dialog'
import { MIN_VALUE_CHARACTERS, SECRET_NAME } from './secret-rules'

export interface LevelSecretFormProps {
  item: AdministeredItem | undefined
  teamId: string | null
  onClose: () => void
}

/**
 * Adds a secret of the organisation or a team, or changes one. If the value is empty, the stored value stays.
 */
export function LevelSecretForm({ item, teamId, onClose }: LevelSecretFormProps) {
  const { t } = useTranslation()
  const save = useSaveLevelItem()
  const [isEnforced, setIsEnforced] = useState(item?.enforced ?? false)
  const { register, handleSubmit, formState } = useForm({
    defaultValues: { name: item?.name ?? '', value: '', description: item?.description ?? '' },
  })
  const { errors } = formState
  const submit = handleSubmit(({ name, value, description }) =>
    save.mutate(
      {
        kind: 'secret',
        name,
        teamId,
        body: { description, enforced: isEnforced, ...(value && { value }) },
      },
      { onSuccess: onClose },
    ),
  )
  return (
    <form onSubmit={(event) => void submit(event)} noValidate className="flex flex-col gap-4">
      <Field label={t('secrets.name')} error={errors.name && t('secrets.name_invalid')}>
        {(control) => (
          <Input
            {...control}
            readOnly={item !== undefined}
            autoComplete="off"
            spellCheck={false}
            className="font-mono"
            {...register('name', { required: true, pattern: SECRET_NAME })}
          />
        )}
      </Field>
      <Field
        label={t('secrets.value')}
        hint={item && t('level_items.value_kept')}
        error={errors.value && t('secrets.value_invalid')}
      >
        {(control) => (
          <Input
            {...control}
            type="password"
            autoComplete="new-password"
            {...register('value', { required: !item, minLength: MIN_VALUE_CHARACTERS })}
          />
        )}
      </Field>
      <Field label={t('secrets.description')}>
        {(control) => <Input {...control} {...register('description')} />}
      </Field>
      <EnforceField isEnforced={isEnforced} onChange={setIsEnforced} />
      {save.isError && <ErrorState error={save.error} title={t('secrets.save_failed')} />}
      <DialogActions>
        <Button onClick={onClose}>{t('action.cancel')}</Button>
        <Button type="submit" variant="primary" isBusy={save.isPending}>
          {t('action.save')}
        </Button>
      </DialogActions>
    </form>
  )
}
