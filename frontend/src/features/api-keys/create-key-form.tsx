import { Plus } from 'lucide-react'
import { useForm } from 'react-hook-form'
import { useTranslation } from 'react-i18next'
import { useCreateApiKey } from '@/api/api-keys'
import type { CreatedApiKey } from '@/api/types'
import { Button } from '@/ui/button'
import { ErrorState } from '@/ui/error-state'
import { Field } from '@/ui/field'
import { Input } from '@/ui/input'

export function CreateKeyForm({ onCreated }: { onCreated: (created: CreatedApiKey) => void }) {
  const { t } = useTranslation()
  const create = useCreateApiKey()
  const { register, handleSubmit, formState, reset } = useForm({ defaultValues: { name: '' } })
  const submit = handleSubmit(({ name }) =>
    create.mutate(name.trim(), {
      onSuccess: (created) => {
        reset()
        onCreated(created)
      },
    }),
  )
  return (
    <form onSubmit={(event) => void submit(event)} noValidate className="mb-5 flex flex-col gap-3">
      <Field label={t('api_keys.name')} error={formState.errors.name && t('api_keys.name_required')}>
        {(control) => (
          <div className="flex flex-wrap gap-2">
            <Input
              {...control}
              placeholder={t('api_keys.name_placeholder')}
              className="max-w-xs"
              {...register('name', { validate: (name) => name.trim() !== '' })}
            />
            <Button
              type="submit"
              variant="primary"
              icon={<Plus className="size-4" />}
              isBusy={create.isPending}
            >
              {t('api_keys.create')}
            </Button>
          </div>
        )}
      </Field>
      {create.isError && <ErrorState error={create.error} title={t('api_keys.create_failed')} />}
    </form>
  )
}
