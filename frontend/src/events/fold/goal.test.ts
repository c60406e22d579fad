import { describe, expect, it } from 'vitest'
import { goalUpdate, userMessage } from '@/test/sample-log'
import { emptyView, fold } from './reduce'
import type { ConversationEvent, Frame } from '@/events/wire/types'

const verdict = { score: 0.4, complete: false, missing: 'No test was run.' }
const foldEvents = (...events: ConversationEvent[]) =>
  fold(
    emptyView,
    events.map((event, index): Frame => ({ type: 'durable', seq: index + 1, event })),
  )
const steps = (...events: ConversationEvent[]) =>
  foldEvents(...events).items.flatMap((item) => (item.type === 'goal' ? [item.step] : []))

describe('a goal', () => {
  it('tells each of its steps apart', () => {
    expect(
      steps(
        goalUpdate('g1'),
        goalUpdate('g2', { iteration: 1, verdict }),
        goalUpdate('g3', { iteration: 1, verdict, status: 'interrupted' }),
        goalUpdate('g4', { iteration: 1, verdict }),
        goalUpdate('g5', { iteration: 2, verdict, status: 'complete' }),
        goalUpdate('g6', { objective: 'Paint it.' }),
      ),
    ).toEqual(['set', 'judged', 'interrupted', 'resumed', 'judged', 'set'])
  })

  it('stands as its last step left it', () => {
    const view = foldEvents(goalUpdate('g1'), goalUpdate('g2', { iteration: 1, verdict }))
    expect(view.goal).toMatchObject({ status: 'running', iteration: 1, max_iterations: 3, verdict })
  })

  it('that is over is gone with the next message; one that is pursued stays', () => {
    const pursued = [goalUpdate('g1'), userMessage('m1', 'Mend the harbour.')]
    const over = goalUpdate('g2', { iteration: 1, status: 'complete' })
    expect(foldEvents(...pursued).goal?.status).toBe('running')
    expect(foldEvents(...pursued, over).goal?.status).toBe('complete')
    expect(foldEvents(...pursued, over, userMessage('m2', 'Thanks.')).goal).toBeNull()
  })

  it('that makes no sense is an event like any other', () => {
    const view = foldEvents(goalUpdate('g1', { objective: 7 }), goalUpdate('g2', { status: 'great' }))
    expect(view.goal).toBeNull()
    expect(view.items.map((item) => item.type)).toEqual(['event', 'event'])
  })
})
