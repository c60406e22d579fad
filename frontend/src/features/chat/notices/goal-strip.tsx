import clsx from 'clsx'
import { ChevronRight, Play, Square, Target } from 'lucide-react'
import { useId, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useControlGoal } from '@/api/conversations/goals'
import type { PursuedGoal } from '@/events/fold/goal'
import { agentStatus } from '@/events/status'
import { useConversation } from '@/events/use-conversation'
import { Button } from '@/ui/form/button'
import { useComposerDraft } from '../composer/composer-draft'

/**
 * The goal of the agent: the progress, the last remark of the judge on what is missing, and buttons to stop
 * and resume the goal.
 */
export function GoalStrip() {
  const goal = useConversation((state) => state.view.goal)
  return goal && <Strip goal={goal} />
}

function Strip({ goal }: { goal: PursuedGoal }) {
  const { t } = useTranslation()
  const titleId = useId()
  const bodyId = useId()
  const [isOpen, setIsOpen] = useState(false)
  const missing = goal.verdict?.missing.trim()
  return (
    <section
      aria-labelledby={titleId}
      className="mb-2 rounded-lg border border-border bg-sunken/60 px-3 py-1.5 text-sm"
    >
      <h2 id={titleId} className="sr-only">
        {t('goal.title')}
      </h2>
      <div className="flex items-center gap-2">
        <Target aria-hidden className={clsx('size-4 shrink-0', TONES[goal.status])} />
        <button
          type="button"
          aria-expanded={isOpen}
          aria-controls={bodyId}
          onClick={() => setIsOpen(!isOpen)}
          className="flex min-h-8 min-w-0 flex-1 items-center gap-1.5 rounded-sm text-left"
        >
          <span className="min-w-0 truncate">{goal.objective}</span>
          <ChevronRight
            aria-hidden
            className={clsx('size-3.5 shrink-0 text-faint transition-transform', isOpen && 'rotate-90')}
          />
        </button>
        <span aria-live="polite" className="shrink-0 text-xs text-muted tabular-nums">
          {t(`goal.stands.${goal.status}`, { ...roundOf(goal), count: goal.iteration })}
        </span>
        <Control status={goal.status} />
      </div>
      {isOpen && (
        <p id={bodyId} className="mt-1 max-h-40 overflow-y-auto pl-6 wrap-anywhere whitespace-pre-wrap">
          {goal.objective}
        </p>
      )}
      {missing && goal.status !== 'complete' && (
        <p
          title={missing}
          className={clsx('pb-0.5 pl-6 text-xs wrap-anywhere text-muted', !isOpen && 'line-clamp-2')}
        >
          <span className="font-medium">{t('goal.missing')}</span> {missing}
        </p>
      )}
    </section>
  )
}

const TONES: Record<PursuedGoal['status'], string> = {
  running: 'text-accent',
  complete: 'text-success',
  capped: 'text-warning',
  interrupted: 'text-muted',
}

/** Returns the number of the current round, or of the round that begins when the goal is resumed. */
function roundOf({ iteration, max_iterations: total }: PursuedGoal) {
  return { round: Math.min(iteration + 1, total), total }
}

function Control({ status }: Pick<PursuedGoal, 'status'>) {
  const { t } = useTranslation()
  const { conversationId } = useComposerDraft()
  const control = useControlGoal(conversationId)
  const isBusy = useConversation((state) =>
    ['running', 'waiting_for_confirmation'].includes(agentStatus(state)),
  )
  if (status === 'running')
    return (
      <Button
        size="sm"
        variant="ghost"
        icon={<Square aria-hidden className="hidden size-3 sm:block" />}
        isBusy={control.isPending}
        title={t('goal.stop_hint')}
        onClick={() => control.mutate('stop')}
      >
        {t('goal.stop')}
      </Button>
    )
  if (status !== 'interrupted') return null
  return (
    <Button
      size="sm"
      variant="ghost"
      icon={<Play aria-hidden className="size-3.5" />}
      isBusy={control.isPending}
      disabled={isBusy}
      title={isBusy ? t('goal.only_at_rest') : undefined}
      onClick={() => control.mutate('resume')}
    >
      {t('goal.resume')}
    </Button>
  )
}
