import { Target } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import type { AppConversation } from '@/api/types'

/**
 * The current round of a goal and the number of rounds. Shows nothing if the agent does not work on a goal.
 */
export function GoalMark({ goal }: Pick<AppConversation, 'goal'>) {
  const { t } = useTranslation()
  if (goal?.status !== 'running') return null
  const total = goal.max_iterations
  const round = Math.min(goal.iteration + 1, total)
  return (
    <span className="flex shrink-0 items-center gap-1 tabular-nums" title={goal.objective}>
      <Target aria-hidden className="size-3" />
      {t('goal.short', { round, total })}
    </span>
  )
}
