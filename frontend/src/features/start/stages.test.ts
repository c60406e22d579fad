import { expect, it } from 'vitest'
import { fakeStartTask } from '@/test/factories'
import { stageElapsedMs, startElapsedMs } from './stages'

const at = (second: number) => `2026-01-02T03:04:${String(second).padStart(2, '0')}Z`
const now = Date.parse(at(30))

function taskWith(...times: [string | null, string | null][]) {
  const task = fakeStartTask()
  task.stages = task.stages.map((stage, index) => ({
    ...stage,
    started_at: times[index]?.[0] ?? null,
    finished_at: times[index]?.[1] ?? null,
  }))
  return task
}

it('measures a stage until it ends, a running one until now, a clock behind the server’s as nothing', () => {
  const [done, running, pending] = taskWith([at(1), at(3)], [at(3), null]).stages
  expect(stageElapsedMs(done!, now)).toBe(2_000)
  expect(stageElapsedMs(running!, now)).toBe(27_000)
  expect(stageElapsedMs(running!, Date.parse(at(0)))).toBe(0)
  expect(stageElapsedMs(pending!, now)).toBeNull()
})

it('measures the start until its last stage has ended', () => {
  expect(startElapsedMs(taskWith([at(1), at(3)], [at(3), null]), now)).toBe(29_000)
  expect(startElapsedMs({ ...taskWith([at(1), at(3)], [at(3), at(9)]), status: 'READY' }, now)).toBe(8_000)
})

it('does not count the sleep before a sandbox that is brought up again', () => {
  expect(startElapsedMs(taskWith([at(1), at(2)], [at(20), null], [at(3), at(6)]), now)).toBe(14_000)
})
