import clsx from 'clsx'
import { Check, Circle, Minus, X } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import type { StartStage } from '@/api/types'
import { formatDuration } from '@/lib/text/time'
import { ScrollPre } from '@/ui/text/scroll-pre'
import { Spinner } from '@/ui/feedback/spinner'
import { stageElapsedMs } from './stages'

export interface StageRowProps {
  stage: StartStage
  now: number
  /** If true, the failure is explained below the list, so the row does not explain it. */
  isExplained?: boolean
}

/** One stage of the start: its state, its time, its message, and the end of its output on demand. */
export function StageRow({ stage, now, isExplained = false }: StageRowProps) {
  const { t } = useTranslation()
  const elapsed = stageElapsedMs(stage, now)
  const isQuiet = stage.state === 'pending' || stage.state === 'skipped'
  return (
    <li
      aria-current={stage.state === 'running' ? 'step' : undefined}
      className={clsx('flex gap-3 py-1.5 text-sm', isQuiet && 'text-muted')}
    >
      <span className="mt-0.5 flex size-4 shrink-0 items-center justify-center">
        <StageIcon state={stage.state} />
      </span>
      <div className="min-w-0 flex-1">
        <p className="flex items-baseline justify-between gap-3">
          <span className={clsx(stage.state === 'running' && 'font-medium')}>
            {t(`start.stage.${stage.status}`)}
            <span className="sr-only">, {t(`start.state.${stage.state}`)}</span>
          </span>
          <span className="shrink-0 font-mono text-xs text-muted tabular-nums">
            {stage.state === 'skipped'
              ? t('start.state.skipped')
              : elapsed !== null && formatDuration(elapsed)}
          </span>
        </p>
        {!isExplained && stage.detail && <p className="text-xs wrap-anywhere text-muted">{stage.detail}</p>}
        {!isExplained && stage.output && stage.output !== stage.detail && (
          <StageOutput output={stage.output} />
        )}
      </div>
    </li>
  )
}

function StageIcon({ state }: { state: StartStage['state'] }) {
  switch (state) {
    case 'pending':
      return <Circle aria-hidden className="size-2.5" />
    case 'running':
      return <Spinner className="size-4 text-accent" />
    case 'done':
      return <Check aria-hidden className="size-4 text-success" />
    case 'skipped':
      return <Minus aria-hidden className="size-3.5" />
    case 'failed':
      return <X aria-hidden className="size-4 text-danger" />
  }
}

function StageOutput({ output }: { output: string }) {
  const { t } = useTranslation()
  return (
    <details className="mt-1">
      <summary className="cursor-pointer text-xs text-muted hover:text-text">{t('start.output')}</summary>
      <ScrollPre className="mt-1 max-h-60 rounded-md bg-sunken p-3 font-mono text-xs whitespace-pre-wrap text-text">
        {output}
      </ScrollPre>
    </details>
  )
}
