import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { ListChecks } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { type JobFilter, jobsQuery, type JobPage, type JobState } from '@/api/automation/jobs'
import { currentUserQuery, administersInstallation } from '@/api/people/users'
import { Button } from '@/ui/form/button'
import { Card } from '@/ui/layout/card'
import { EmptyState } from '@/ui/feedback/empty-state'
import { ErrorState } from '@/ui/feedback/error-state'
import { Field } from '@/ui/form/field'
import { Notice } from '@/ui/feedback/notice'
import { SectionHeader } from '@/ui/layout/section-header'
import { Select } from '@/ui/form/select'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { JobRow } from './job-row'

const STATES: JobState[] = ['waiting', 'running', 'dead', 'done', 'cancelled']

/** The work that the app server does in the background, and the jobs that have failed. */
export function JobsSection() {
  const { t } = useTranslation()
  const me = useQuery(currentUserQuery()).data
  return (
    <section aria-label={t('jobs.title')}>
      <SectionHeader title={t('jobs.title')} lead={t('jobs.lead')} />
      {me && !administersInstallation(me) && <Notice tone="neutral">{t('jobs.administrators_only')}</Notice>}
      {me && administersInstallation(me) && <Jobs />}
    </section>
  )
}

function Jobs() {
  const { t } = useTranslation()
  const [filter, setFilter] = useState<JobFilter>({})
  const query = useInfiniteQuery(jobsQuery(filter))
  const jobs = query.data?.pages.flatMap((page) => page.items) ?? []
  const counts = query.data?.pages[0]?.counts ?? []
  const troubled = query.data?.pages[0]?.troubled ?? 0
  return (
    <>
      {troubled > 0 && (
        <Notice tone="warning" title={t('jobs.troubled', { count: troubled })}>
          {t('jobs.troubled_hint')}
        </Notice>
      )}
      <Filters filter={filter} counts={counts} onChange={setFilter} />
      {query.isPending && <SkeletonList rows={4} label={t('jobs.loading')} className="h-14" />}
      {query.isError && !query.data && (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      )}
      {query.data && (
        <Card>
          {jobs.length === 0 ? (
            <EmptyState icon={<ListChecks />} title={t('jobs.nothing')}>
              {t('jobs.nothing_hint')}
            </EmptyState>
          ) : (
            <ul className="divide-y divide-border">
              {jobs.map((job) => (
                <JobRow key={job.id} job={job} />
              ))}
            </ul>
          )}
        </Card>
      )}
      {query.hasNextPage && (
        <Button
          size="sm"
          className="mt-3"
          isBusy={query.isFetchingNextPage}
          onClick={() => void query.fetchNextPage()}
        >
          {t('action.load_more')}
        </Button>
      )}
    </>
  )
}

interface FiltersProps {
  filter: JobFilter
  counts: JobPage['counts']
  onChange: (filter: JobFilter) => void
}

function Filters({ filter, counts, onChange }: FiltersProps) {
  const { t } = useTranslation()
  const kinds = [...new Set(counts.map(({ kind }) => kind))]
  const numberIn = (state: JobState) =>
    counts
      .filter((each) => each.state === state && (!filter.kind || each.kind === filter.kind))
      .reduce((sum, { count }) => sum + count, 0)
  return (
    <div role="search" aria-label={t('jobs.filters')} className="mb-4 grid gap-3 sm:grid-cols-2">
      <Field label={t('jobs.state')}>
        {(ids) => (
          <Select
            {...ids}
            value={filter.state ?? ''}
            onChange={({ target }) =>
              onChange({ ...filter, state: (target.value || undefined) as JobState | undefined })
            }
          >
            <option value="">{t('jobs.every_state')}</option>
            {STATES.map((state) => (
              <option key={state} value={state}>
                {t(`jobs.state_${state}`)} ({numberIn(state)})
              </option>
            ))}
          </Select>
        )}
      </Field>
      <Field label={t('jobs.kind')}>
        {(ids) => (
          <Select
            {...ids}
            value={filter.kind ?? ''}
            onChange={({ target }) => onChange({ ...filter, kind: target.value || undefined })}
          >
            <option value="">{t('jobs.every_kind')}</option>
            {kinds.map((kind) => (
              <option key={kind} value={kind}>
                {kind}
              </option>
            ))}
          </Select>
        )}
      </Field>
    </div>
  )
}
