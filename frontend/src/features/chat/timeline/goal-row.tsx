import clsx from 'clsx'
import { CircleCheckBig, CircleDashed, Hand, RotateCw, Target } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import type { PursuedGoal } from '@/events/fold/goal'
import type { TimelineItem } from '@/events/fold/reduce'
import { formatDateTime } from '@/lib/text/time'
import { Marker } from './marker'

/** The row for one step of a goal: it was set, judged, stopped or resumed. */
export function GoalRow({ item }: { item: Extract<TimelineItem, { type: 'goal' }> }) {
  const { t } = useTranslation()
  const at = item.event.timestamp
  switch (item.step) {
    case 'set':
      return (
        <Marker
          icon={<Target aria-hidden />}
          text={t('goal.set', { count: item.goal.max_iterations })}
          at={at}
        />
      )
    case 'resumed':
      return <Marker icon={<RotateCw aria-hidden />} text={t('goal.resumed')} at={at} />
    case 'interrupted':
      return <Marker icon={<Hand aria-hidden />} text={t('goal.interrupted')} at={at} />
    case 'judged':
      return <VerdictRow goal={item.goal} at={at} />
  }
}

function VerdictRow({ goal, at }: { goal: PursuedGoal; at: string }) {
  const { t } = useTranslation()
  const { iteration: round, max_iterations: total, status, verdict } = goal
  const isReached = status === 'complete'
  const Icon = isReached ? CircleCheckBig : CircleDashed
  return (
    <section
      className={clsx(
        'rounded-lg border bg-sunken/60 px-4 py-2.5 text-sm',
        isReached ? 'border-success/40' : 'border-border',
      )}
    >
      <h2 className="flex gap-2" title={formatDateTime(at)}>
        <Icon
          aria-hidden
          className={clsx('mt-0.5 size-4 shrink-0', isReached ? 'text-success' : 'text-warning')}
        />
        <span className="flex flex-wrap items-baseline gap-x-2">
          <span className="font-medium">{t(`goal.verdict.${status}`)}</span>
          <span className="text-xs text-muted tabular-nums">
            {t('goal.judged', { round, total })}
            {verdict && !isReached && ` · ${t('goal.score', { percent: Math.round(verdict.score * 100) })}`}
          </span>
        </span>
      </h2>
      {!isReached && (
        <p className="mt-1 pl-6 wrap-anywhere whitespace-pre-wrap text-muted">
          {verdict?.missing.trim() || t('goal.nothing_said')}
        </p>
      )}
    </section>
  )
}
