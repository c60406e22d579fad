import { useTranslation } from 'react-i18next'
import { type Job, type JobChange, type JobState, useChangeJob } from '@/api/automation/jobs'
import { formatAge, formatDateTime } from '@/lib/text/time'
import { Badge, type Tone } from '@/ui/feedback/badge'
import { Button } from '@/ui/form/button'

const TONES: Record<JobState, Tone> = {
  waiting: 'neutral',
  running: 'accent',
  done: 'success',
  dead: 'danger',
  cancelled: 'warning',
}

export function JobRow({ job }: { job: Job }) {
  const { t } = useTranslation()
  const change = useChangeJob()
  return (
    <li className="flex flex-wrap items-start gap-x-4 gap-y-2 px-4 py-3">
      <div className="min-w-0 flex-1 basis-60">
        <p className="flex flex-wrap items-center gap-2 font-medium">
          <span className="wrap-anywhere">{job.kind}</span>
          <Badge tone={TONES[job.state]}>{t(`jobs.state_${job.state}`)}</Badge>
          {!job.has_handler && <Badge tone="warning">{t('jobs.no_handler')}</Badge>}
          {job.trouble && <Badge tone="danger">{t(`jobs.trouble_${job.trouble}`)}</Badge>}
        </p>
        <p className="text-xs wrap-anywhere text-muted">{factsOf(job, t)}</p>
        {job.error && <p className="mt-1 text-xs wrap-anywhere text-danger">{job.error}</p>}
      </div>
      <div className="flex gap-2">
        {changesOf(job).map((wanted) => (
          <Button
            key={wanted}
            size="sm"
            aria-label={t(`jobs.${wanted}_named`, { kind: job.kind })}
            isBusy={change.isPending && change.variables.change === wanted}
            disabled={change.isPending}
            onClick={() => change.mutate({ id: job.id, change: wanted })}
          >
            {t(`jobs.${wanted}`)}
          </Button>
        ))}
      </div>
    </li>
  )
}

function factsOf(job: Job, t: ReturnType<typeof useTranslation>['t']): string {
  const isLater = job.state === 'waiting' && Date.parse(job.run_at) > Date.now()
  return [
    job.every_seconds
      ? t('jobs.repeats', { seconds: job.every_seconds })
      : t('jobs.created', { age: formatAge(job.created_at) }),
    job.attempts > 0 && t('jobs.attempts', { count: job.attempts }),
    isLater && t('jobs.next', { date: formatDateTime(job.run_at) }),
    job.finished_at && t('jobs.ended', { age: formatAge(job.finished_at) }),
    job.key,
  ]
    .filter(Boolean)
    .join(' · ')
}

function changesOf({ state, every_seconds: every }: Job): JobChange[] {
  const changes: JobChange[] = []
  if (state === 'dead' || state === 'cancelled' || state === 'waiting') changes.push('retry')
  if (!every && (state === 'dead' || state === 'waiting' || state === 'running')) changes.push('cancel')
  return changes
}
