import { ChevronRight } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import type { StartTask } from '@/api/types'
import { formatDuration } from '@/lib/text/time'
import { useNow } from '@/lib/hooks/use-now'
import { StageRow } from './stage-row'
import { StartFailure } from './start-failure'
import { startElapsedMs } from './stages'

export interface StartProgressProps {
  task: StartTask
  onRetried: (task: StartTask) => void
}

/**
 * The progress of the start. When the conversation is ready, only one line is left, which the user can open.
 */
export function StartProgress({ task, onRetried }: StartProgressProps) {
  const { t } = useTranslation()
  const isUnderWay = task.status !== 'READY' && task.status !== 'ERROR'
  const now = useNow(isUnderWay, 250)
  if (task.status === 'READY') return <StartSummary task={task} />
  return (
    <section
      aria-label={t('start.label')}
      className="rounded-xl border border-border bg-raised p-4 shadow-raised sm:p-5"
    >
      <header className="flex items-baseline justify-between gap-3">
        <h2 className="font-medium">{t(isUnderWay ? 'start.title' : 'start.failed_title')}</h2>
        <span className="shrink-0 font-mono text-xs text-muted tabular-nums">
          {formatDuration(startElapsedMs(task, now))}
        </span>
      </header>
      <StageList task={task} now={now} />
      {task.error && <StartFailure task={task} error={task.error} onRetried={onRetried} />}
    </section>
  )
}

function StageList({ task, now }: { task: StartTask; now: number }) {
  return (
    <ol className="mt-3">
      {task.stages.map((stage) => (
        <StageRow
          key={stage.status}
          stage={stage}
          now={now}
          isExplained={stage.status === task.error?.stage}
        />
      ))}
    </ol>
  )
}

function StartSummary({ task }: { task: StartTask }) {
  const { t } = useTranslation()
  const duration = formatDuration(startElapsedMs(task, 0))
  return (
    <details className="group text-sm text-muted">
      <summary className="inline-flex cursor-pointer list-none items-center gap-1 rounded-sm hover:text-text">
        <ChevronRight aria-hidden className="size-3.5 transition-transform group-open:rotate-90" />
        {t('start.ready_in', { duration })}
      </summary>
      <div className="ml-1.5 border-l border-border pl-3">
        <StageList task={task} now={0} />
      </div>
    </details>
  )
}
