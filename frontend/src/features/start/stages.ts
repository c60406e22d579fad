import type { StartStage, StartTask } from '@/api/types'
import { timestampMs } from '@/events/wire/timestamps'

/** Returns how long a stage took, or has taken until `now`. Returns null if it has not begun. */
export function stageElapsedMs(stage: StartStage, now: number): number | null {
  if (stage.started_at === null) return null
  const end = stage.finished_at === null ? now : timestampMs(stage.finished_at)
  return Math.max(0, end - timestampMs(stage.started_at))
}

/**
 * Returns the time of all stages together. Pauses between stages do not count, such as the time in which the
 * sandbox slept.
 */
export function startElapsedMs(task: StartTask, now: number): number {
  return task.stages.reduce((sum, stage) => sum + (stageElapsedMs(stage, now) ?? 0), 0)
}
