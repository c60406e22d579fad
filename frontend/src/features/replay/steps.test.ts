import { describe, expect, it } from 'vitest'
import type { PositionedEvent } from '@/events/fold/rewind'
import type { ConversationEvent } from '@/events/wire/types'
import { action, agentMessage, observation, statusChange, userMessage } from '@/test/sample-log'
import { Folding, pauseBefore, stepAt, stepsOf } from './steps'

const placed = (events: ConversationEvent[], first = 1): PositionedEvent[] =>
  events.map((event, index) => ({ seq: first + index, event }))

const LOG = placed([
  userMessage('m', 'Go'),
  statusChange('s', 'running'),
  action('a', 'ls'),
  observation('o', 'a', 'README'),
  agentMessage('r', 'Done'),
])

describe('the steps of a replay', () => {
  it('leave out hidden events, and any position finds the next one', () => {
    const steps = stepsOf(LOG, (event) => event.kind === 'ConversationStateUpdateEvent')
    expect(steps.map(({ seq }) => seq)).toEqual([1, 3, 4, 5])
    expect(stepAt(steps, 0)).toBe(0)
    expect(stepAt(steps, 2)).toBe(1)
    expect(stepAt(steps, null)).toBe(3)
    expect(stepAt(steps, 99)).toBe(3)
    expect(stepAt([], 4)).toBe(0)
  })

  it('follow each other as fast as they did, within limits', () => {
    const at = (seconds: number) => ({
      seq: 1,
      at: new Date(Date.UTC(2026, 0, 2) + seconds * 1000).toISOString(),
    })
    expect(pauseBefore(at(0), at(0.5), 1)).toBe(500)
    expect(pauseBefore(at(0), at(3600), 2)).toBe(750)
    expect(pauseBefore(at(5), at(0), 1)).toBe(150)
    expect(pauseBefore(at(0), { seq: 2, at: 'never' }, 1)).toBe(150)
  })

  it('show an action as open until its result has come', () => {
    const folding = new Folding(LOG)
    const [, , call] = folding.viewAt(3).items
    expect(call).toMatchObject({ type: 'tool', outcome: null })
    expect(folding.viewAt(4).items[2]).toMatchObject({ type: 'tool', outcomeSeq: 4 })
    expect(folding.viewAt(0).items).toEqual([])
    expect(folding.viewAt(99).lastSeq).toBe(5)
  })

  it('are the same forward and back, also far into a long history that begins in the middle', () => {
    const log = placed(
      Array.from({ length: 1700 }, (_, index) => userMessage(`m${index}`, 'again')),
      301,
    )
    const folding = new Folding(log)
    expect(folding.viewAt(1900).items).toHaveLength(1600)
    expect(folding.viewAt(900).items).toHaveLength(600)
    expect(folding.viewAt(901).lastSeq).toBe(901)
    expect(folding.viewAt(300).items).toHaveLength(0)
  })
})
