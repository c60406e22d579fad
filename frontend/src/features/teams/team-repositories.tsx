import { useQuery } from '@tanstack/react-query'
import { useForm } from 'react-hook-form'
import { useTranslation } from 'react-i18next'
import {
  teamRepositoriesQuery,
  useSaveTeamRepositories,
  type Team,
  type TeamRepositories as Repositories,
} from '@/api/people/teams'
import { ErrorState } from '@/ui/feedback/error-state'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { Button } from '@/ui/form/button'
import { Field } from '@/ui/form/field'
import { Select } from '@/ui/form/select'
import { Textarea } from '@/ui/form/textarea'

const TEAM_ACCESS_LEVELS = ['none', 'view', 'steer'] as const

/** The repositories that belong to a team. Administrators and the team's maintainers change them. */
export function TeamRepositories({ team }: { team: Team }) {
  const { t } = useTranslation()
  const query = useQuery(teamRepositoriesQuery(team.id))
  if (query.isPending) {
    return <SkeletonList rows={1} label={t('teams.repositories_loading')} className="h-10" />
  }
  if (!query.data) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  return (
    <div className="mt-3 border-t border-border pt-3 pl-6">
      {query.data.may_change ? (
        <RepositoriesForm team={team} saved={query.data} />
      ) : (
        <RepositoryList team={team} saved={query.data} />
      )}
    </div>
  )
}

interface RepositoriesProps {
  team: Team
  saved: Repositories
}

function RepositoryList({ team, saved }: RepositoriesProps) {
  const { t } = useTranslation()
  if (saved.repositories.length === 0) {
    return <p className="text-sm text-muted">{t('teams.repositories_empty')}</p>
  }
  return (
    <>
      <h3 className="text-sm font-medium">{t('teams.repositories')}</h3>
      <ul aria-label={t('teams.repositories_of', { name: team.name })} className="mt-1 space-y-1">
        {saved.repositories.map((name) => (
          <li key={name} className="font-mono text-xs wrap-anywhere">
            {name}
          </li>
        ))}
      </ul>
      <p className="mt-2 text-xs text-muted">
        {t(`teams.members_see_is_${saved.members_see}`)}
        {saved.members_only && ` ${t('teams.members_only_is')}`}
      </p>
    </>
  )
}

interface RepositoriesInput {
  repositories: string
  members_see: Repositories['members_see']
  members_only: boolean
}

function RepositoriesForm({ team, saved }: RepositoriesProps) {
  const { t } = useTranslation()
  const save = useSaveTeamRepositories(team.id)
  const { register, handleSubmit, formState, reset } = useForm<RepositoriesInput>({
    defaultValues: inputOf(saved),
  })
  const submit = handleSubmit(({ repositories, members_see, members_only }) =>
    save.mutate(
      {
        repositories: repositories.split(/\s+/).filter(Boolean),
        members_see,
        ...(saved.may_restrict && { members_only }),
      },
      { onSuccess: (stored) => reset(inputOf(stored)) },
    ),
  )
  return (
    <form
      aria-label={t('teams.repositories_of', { name: team.name })}
      onSubmit={(event) => void submit(event)}
      className="space-y-3"
    >
      <Field label={t('teams.repositories')} hint={t('teams.repositories_hint')}>
        {(ids) => (
          <Textarea
            {...ids}
            spellCheck={false}
            className="max-h-60 font-mono"
            placeholder="github.com/acme/payments-*"
            {...register('repositories')}
          />
        )}
      </Field>
      <Field label={t('teams.members_see')}>
        {(ids) => (
          <Select {...ids} className="max-w-xs" {...register('members_see')}>
            {TEAM_ACCESS_LEVELS.map((each) => (
              <option key={each} value={each}>
                {t(`teams.members_see_${each}`)}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <label className="flex items-start gap-2 text-sm">
        <input
          type="checkbox"
          className="mt-0.5 size-4 shrink-0 accent-accent"
          disabled={!saved.may_restrict}
          {...register('members_only')}
        />
        {t(saved.may_restrict ? 'teams.members_only' : 'teams.members_only_by_admin')}
      </label>
      {save.isError && <ErrorState error={save.error} title={t('teams.repositories_failed')} />}
      <Button type="submit" isBusy={save.isPending} disabled={!formState.isDirty}>
        {t('teams.repositories_save')}
      </Button>
    </form>
  )
}

function inputOf(saved: Repositories): RepositoriesInput {
  const { members_see, members_only } = saved
  return { repositories: saved.repositories.join('\n'), members_see, members_only }
}
