import { useForm } from 'react-hook-form'
import { useTranslation } from 'react-i18next'
import { useCreateOrganisation } from '@/api/people/organisations'
import type { SignInLink } from '@/api/types'
import { Button } from '@/ui/form/button'
import { ErrorState } from '@/ui/feedback/error-state'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'

const MAX_NAME = 100

export interface OrganisationFormProps {
  /** Called with the name of the invited owner, and the owner's link. */
  onCreated: (owner: string, link: SignInLink) => void
}

/** Creates an organisation together with its owner. */
export function OrganisationForm({ onCreated }: OrganisationFormProps) {
  const { t } = useTranslation()
  const create = useCreateOrganisation()
  const { register, handleSubmit, formState, reset } = useForm({ defaultValues: { name: '', owner: '' } })
  const submit = handleSubmit(({ name, owner }) =>
    create.mutate(
      { name: name.trim(), owner: owner.trim() },
      {
        onSuccess: (link) => {
          reset()
          onCreated(owner.trim(), link)
        },
      },
    ),
  )
  return (
    <form onSubmit={(event) => void submit(event)} noValidate className="mb-5 flex flex-col gap-3">
      <div className="flex flex-wrap items-start gap-3">
        {(['name', 'owner'] as const).map((field) => (
          <Field
            key={field}
            label={t(`organisations.${field}`)}
            error={formState.errors[field] && t('organisations.required')}
            className="min-w-44 flex-1"
          >
            {(ids) => (
              <Input
                {...ids}
                autoComplete="off"
                maxLength={MAX_NAME}
                {...register(field, { validate: (text) => text.trim() !== '' })}
              />
            )}
          </Field>
        ))}
      </div>
      <Button type="submit" isBusy={create.isPending} className="self-start">
        {t('organisations.create')}
      </Button>
      {create.isError && <ErrorState error={create.error} title={t('organisations.create_failed')} />}
    </form>
  )
}
