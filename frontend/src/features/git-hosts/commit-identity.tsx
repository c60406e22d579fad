import { useQuery } from '@tanstack/react-query'
import { useForm } from 'react-hook-form'
import { useTranslation } from 'react-i18next'
import { type CommitIdentity, commitIdentityQuery, useSaveCommitIdentity } from '@/api/git/commit-identity'
import { Button } from '@/ui/form/button'
import { ErrorState } from '@/ui/feedback/error-state'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'
import { SectionHeader } from '@/ui/layout/section-header'
import { Select } from '@/ui/form/select'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { RepositoryTrailers, TrailerOptions } from './commit-trailers'

const NAME = /^[^<>]*$/
const EMAIL = /^[^<>\s]*$/

/** The name and the e-mail address in commits of agents. */
export function CommitIdentitySection() {
  const { t } = useTranslation()
  const query = useQuery(commitIdentityQuery())
  return (
    <section aria-label={t('commit_identity.title')} className="mt-8">
      <SectionHeader title={t('commit_identity.title')} lead={t('commit_identity.lead')} />
      {query.isPending && <SkeletonList rows={1} label={t('commit_identity.loading')} className="h-16" />}
      {query.isError && !query.data && (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      )}
      {query.data && (
        <>
          <IdentityForm identity={query.data} />
          <RepositoryTrailers trailers={query.data.commit_trailers} />
        </>
      )}
    </section>
  )
}

function IdentityForm({ identity }: { identity: CommitIdentity }) {
  const { t } = useTranslation()
  const save = useSaveCommitIdentity()
  const { register, handleSubmit, formState, reset } = useForm<Omit<CommitIdentity, 'commit_trailers'>>({
    values: {
      git_user_name: identity.git_user_name ?? '',
      git_user_email: identity.git_user_email ?? '',
      commit_trailer: identity.commit_trailer,
    },
    resetOptions: { keepDirtyValues: true },
  })
  const { errors, isDirty } = formState
  const submit = handleSubmit((given) => save.mutate(given, { onSuccess: () => reset(given) }))
  return (
    <form onSubmit={(event) => void submit(event)} noValidate className="flex flex-col gap-4">
      <div className="grid gap-4 sm:grid-cols-2">
        <Field
          label={t('commit_identity.name')}
          error={errors.git_user_name && t('commit_identity.name_invalid')}
        >
          {(control) => (
            <Input
              {...control}
              placeholder="Slipway"
              autoComplete="name"
              {...register('git_user_name', { pattern: NAME })}
            />
          )}
        </Field>
        <Field
          label={t('commit_identity.email')}
          error={errors.git_user_email && t('commit_identity.email_invalid')}
        >
          {(control) => (
            <Input
              {...control}
              type="email"
              placeholder="slipway@localhost"
              autoComplete="email"
              {...register('git_user_email', { pattern: EMAIL })}
            />
          )}
        </Field>
      </div>
      <Field label={t('commit_identity.trailer')} hint={t('commit_identity.trailer_hint')}>
        {(control) => (
          <Select {...control} className="sm:max-w-xs" {...register('commit_trailer')}>
            <TrailerOptions />
          </Select>
        )}
      </Field>
      {save.isError && <ErrorState error={save.error} title={t('commit_identity.save_failed')} />}
      <div>
        <Button type="submit" disabled={!isDirty} isBusy={save.isPending}>
          {t('commit_identity.save')}
        </Button>
      </div>
    </form>
  )
}
