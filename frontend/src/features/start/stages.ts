import type { StartStage, StartTask } from '@/api/types'
import { timestampMs } from '@/events/wire/timestamps'

/** How long a stage took, or has taken by `now`; null before it began. */
export function stageElapsedMs(stage: StartStage, now: number): number | null {
  if (stage.started_at === null) return null
  const end = stage.finished_at === null ? now : timestampMs(stage.finished_at)
  return Math.max(0, end - timestampMs(stage.started_at))
}

/** All stages together. What lies between them, as before a sandbox that slept starts again, is no start. */
export function startElapsedMs(task: StartTask, now: number): number {
  return task.stages.reduce((sum, stage) => sum + (stageElapsedMs(stage, now) ?? 0), 0)
}
