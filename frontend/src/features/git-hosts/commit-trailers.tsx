import { type FormEvent, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { type CommitIdentity, type CommitTrailer, useSaveCommitIdentity } from '@/api/git/commit-identity'
import { Button } from '@/ui/form/button'
import { Card } from '@/ui/layout/card'
import { ErrorState } from '@/ui/feedback/error-state'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'
import { Select } from '@/ui/form/select'

const TRAILERS = ['none', 'co_authored_by', 'assisted_by'] as const satisfies readonly CommitTrailer[]

export function TrailerOptions() {
  const { t } = useTranslation()
  return TRAILERS.map((trailer) => (
    <option key={trailer} value={trailer}>
      {t(`commit_identity.trailer_${trailer}`)}
    </option>
  ))
}

/** The last line of commits in single repositories. It replaces the general setting. */
export function RepositoryTrailers({ trailers }: { trailers: CommitIdentity['commit_trailers'] }) {
  const { t } = useTranslation()
  const save = useSaveCommitIdentity()
  const [repository, setRepository] = useState('')
  const [trailer, setTrailer] = useState<CommitTrailer>('none')
  const names = Object.keys(trailers).sort()

  function handleSubmit(event: FormEvent) {
    event.preventDefault()
    if (repository.trim() === '') return
    save.mutate(
      { commit_trailers: { ...trailers, [repository.trim()]: trailer } },
      { onSuccess: () => setRepository('') },
    )
  }

  function handleRemove(name: string) {
    save.mutate({
      commit_trailers: Object.fromEntries(Object.entries(trailers).filter(([other]) => other !== name)),
    })
  }

  return (
    <div className="mt-5 flex flex-col gap-3">
      <h3 className="text-sm font-medium">{t('commit_identity.repositories')}</h3>
      {names.length > 0 && (
        <Card>
          <ul className="divide-y divide-border">
            {names.map((name) => (
              <li key={name} className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2 text-sm">
                <span className="min-w-0 flex-1 basis-48 wrap-anywhere">{name}</span>
                <span className="text-muted">{t(`commit_identity.trailer_${trailers[name] ?? 'none'}`)}</span>
                <Button
                  size="sm"
                  aria-label={t('commit_identity.remove_named', { name })}
                  onClick={() => handleRemove(name)}
                >
                  {t('commit_identity.remove')}
                </Button>
              </li>
            ))}
          </ul>
        </Card>
      )}
      <form onSubmit={handleSubmit} className="grid items-end gap-3 sm:grid-cols-[2fr_1fr_auto]">
        <Field label={t('commit_identity.repository')}>
          {(ids) => (
            <Input
              {...ids}
              placeholder="https://github.com/owner/name"
              value={repository}
              onChange={(event) => setRepository(event.target.value)}
            />
          )}
        </Field>
        <Field label={t('commit_identity.trailer_here')}>
          {(ids) => (
            <Select
              {...ids}
              value={trailer}
              onChange={(event) => setTrailer(event.target.value as CommitTrailer)}
            >
              <TrailerOptions />
            </Select>
          )}
        </Field>
        <Button type="submit" isBusy={save.isPending} className="justify-self-start">
          {t('commit_identity.add')}
        </Button>
      </form>
      {save.isError && <ErrorState error={save.error} title={t('commit_identity.trailers_failed')} />}
    </div>
  )
}
