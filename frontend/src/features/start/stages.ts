import type { StartStage, StartTask } from '@/api/types'
import { timestampMs } from '@/events/timestamps'

/** How long a stage took, or has taken by `now`; null before it began. */
export function stageElapsedMs(stage: StartStage, now: number): number | null {
  if (stage.started_at === null) return null
  const end = stage.finished_at === null ? now : timestampMs(stage.finished_at)
  return Math.max(0, end - timestampMs(stage.started_at))
}

/** From the first stage's beginning to the last one's end, or to `now` while the start is under way. */
export function startElapsedMs(task: StartTask, now: number): number {
  const ends = task.stages.flatMap((stage) =>
    stage.finished_at === null ? [] : timestampMs(stage.finished_at),
  )
  const isOver = task.status === 'READY' || task.status === 'ERROR'
  const end = isOver && ends.length > 0 ? Math.max(...ends) : isOver ? timestampMs(task.updated_at) : now
  const firstBegin = task.stages.find((stage) => stage.started_at !== null)?.started_at
  return Math.max(0, end - timestampMs(firstBegin ?? task.created_at))
}
