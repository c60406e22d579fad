import { useForm } from 'react-hook-form'
import { useTranslation } from 'react-i18next'
import { useSaveTeam, type Team } from '@/api/people/teams'
import { Button } from '@/ui/form/button'
import { ErrorState } from '@/ui/feedback/error-state'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'

const MAX_NAME = 100

export interface TeamFormProps {
  /** The team to rename. If it is left out, the form creates a team. */
  team?: Team
  onSaved?: () => void
  className?: string
}

export function TeamForm({ team, onSaved, className }: TeamFormProps) {
  const { t } = useTranslation()
  const save = useSaveTeam()
  const { register, handleSubmit, formState, reset } = useForm({ defaultValues: { name: team?.name ?? '' } })
  const submit = handleSubmit(({ name }) =>
    save.mutate(
      { ...(team && { id: team.id }), name: name.trim() },
      {
        onSuccess: () => {
          if (!team) reset()
          onSaved?.()
        },
      },
    ),
  )
  return (
    <form onSubmit={(event) => void submit(event)} noValidate className={className}>
      <Field label={t('teams.name')} error={formState.errors.name && t('teams.name_required')}>
        {(ids) => (
          <div className="flex flex-wrap gap-3">
            <Input
              {...ids}
              autoComplete="off"
              maxLength={MAX_NAME}
              className="min-w-44 flex-1"
              {...register('name', { validate: (name) => name.trim() !== '' })}
            />
            <Button type="submit" variant="primary" isBusy={save.isPending}>
              {t(team ? 'teams.rename' : 'teams.create')}
            </Button>
          </div>
        )}
      </Field>
      {save.isError && (
        <div className="mt-3">
          <ErrorState error={save.error} title={t('teams.save_failed')} />
        </div>
      )}
    </form>
  )
}
