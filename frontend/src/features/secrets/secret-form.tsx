import { Plus } from 'lucide-react'
import { useForm } from 'react-hook-form'
import { useTranslation } from 'react-i18next'
import { useSaveSecret } from '@/api/agents/secrets'
import type { SecretInput } from '@/api/types'
import { Button } from '@/ui/form/button'
import { ErrorState } from '@/ui/feedback/error-state'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'
import { MIN_VALUE_CHARACTERS, SECRET_NAME } from './secret-rules'

/**
 * Adds a secret. If the name exists already, the new value replaces the stored value. The form is cleared
 * after saving.
 */
export function SecretForm() {
  const { t } = useTranslation()
  const save = useSaveSecret()
  const { register, handleSubmit, formState, reset } = useForm<Required<SecretInput>>({
    defaultValues: { name: '', value: '', description: '' },
  })
  const { errors } = formState
  const submit = handleSubmit((secret) => save.mutate(secret, { onSuccess: () => reset() }))
  return (
    <form onSubmit={(event) => void submit(event)} noValidate className="mb-5 flex flex-col gap-4">
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label={t('secrets.name')} error={errors.name && t('secrets.name_invalid')}>
          {(control) => (
            <Input
              {...control}
              placeholder="STAGING_TOKEN"
              autoComplete="off"
              spellCheck={false}
              className="font-mono"
              {...register('name', { required: true, pattern: SECRET_NAME })}
            />
          )}
        </Field>
        <Field label={t('secrets.value')} error={errors.value && t('secrets.value_invalid')}>
          {(control) => (
            <Input
              {...control}
              type="password"
              autoComplete="new-password"
              {...register('value', { required: true, minLength: MIN_VALUE_CHARACTERS })}
            />
          )}
        </Field>
      </div>
      <Field label={t('secrets.description')}>
        {(control) => (
          <Input
            {...control}
            placeholder={t('secrets.description_placeholder')}
            {...register('description')}
          />
        )}
      </Field>
      {save.isError && <ErrorState error={save.error} title={t('secrets.save_failed')} />}
      <div>
        <Button type="submit" variant="primary" icon={<Plus className="size-4" />} isBusy={save.isPending}>
          {t('secrets.save')}
        </Button>
      </div>
    </form>
  )
}
