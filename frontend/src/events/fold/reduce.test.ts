import { describe, expect, it } from 'vitest'
import { emptyView, fold, type ConversationView } from './reduce'
import {
  action,
  agentError,
  agentMessage,
  fileEdited,
  observation,
  sampleLog,
  sampleStream,
  seededRandom,
  statusChange,
  userMessage,
} from '@/test/sample-log'
import type { ConversationEvent, Frame, LiveOutput } from '@/events/wire/types'

const durable = (events: ConversationEvent[], firstSeq = 1): Frame[] =>
  events.map((event, index) => ({ type: 'durable', seq: firstSeq + index, event }))
const foldEvents = (...events: ConversationEvent[]) => fold(emptyView, durable(events))

describe('the timeline', () => {
  it('pairs an action with its observation in one row, in the place of the action', () => {
    const view = foldEvents(action('a1', 'ls'), userMessage('m1', 'wait'), observation('o1', 'a1', 'files'))
    expect(view.items.map((item) => item.type)).toEqual(['tool', 'event'])
    expect(view.items[0]).toMatchObject({ seq: 1, outcome: { id: 'o1' }, outcomeSeq: 3 })
    expect(view.openActions.size).toBe(0)
  })

  it('pairs an agent error with the action whose tool call it names', () => {
    const view = foldEvents(action('a1', 'x'), action('a2', 'y'), agentError('e1', 'a2'))
    expect(view.items).toHaveLength(2)
    expect(view.items[1]).toMatchObject({ action: { id: 'a2' }, outcome: { id: 'e1' } })
    expect([...view.openActions.keys()]).toEqual(['a1'])
  })

  it('shows an answer whose action is unknown as a row of its own', () => {
    expect(foldEvents(observation('o1', 'nobody', 'x')).items).toMatchObject([
      { type: 'event', event: { id: 'o1' } },
    ])
  })

  it('keeps events of a kind it does not know', () => {
    const event = { id: 'x', timestamp: '', source: 'environment', kind: 'FromTheFuture', payload: 1 }
    expect(foldEvents(event).items).toMatchObject([{ event }])
  })

  it('leaves the view it is given untouched', () => {
    const before = foldEvents(action('a1', 'ls'))
    const copy = structuredClone(before)
    fold(before, durable([observation('o1', 'a1', 'files')], 2))
    expect(before).toEqual(copy)
  })

  it('keeps what an open action has printed until the action is answered', () => {
    const shown: LiveOutput = { action_id: 'a1', text: '50 %', styles: [[0, 2, '31']] }
    const told = (...outputs: LiveOutput[]): Frame => ({ type: 'output', outputs })
    const running = fold(foldEvents(action('a1', 'make')), [told(shown, { ...shown, action_id: 'gone' })])
    expect([...running.outputs]).toEqual([['a1', shown]])
    const silent = fold(running, [told()])
    expect([...silent.outputs]).toEqual([['a1', shown]])
    const later = fold(silent, [told({ ...shown, text: '90 %' })])
    expect(later.outputs.get('a1')?.text).toBe('90 %')
    expect(fold(later, durable([observation('o1', 'a1', 'done')], 2)).outputs.size).toBe(0)
  })

  it('copies no history for deltas', () => {
    const before = fold(foldEvents(...sampleLog()), [{ type: 'item_started', item_id: 'r', attempt: 0 }])
    const after = fold(before, [
      { type: 'delta', item_id: 'r', attempt: 0, order: 0, kind: 'text', content: 'x' },
    ])
    expect(after.items).toBe(before.items)
  })
})

describe('what the log says about the run', () => {
  it.each([
    [{ key: 'execution_status', value: 'running' }, 'running'],
    [{ key: 'full_state', value: { execution_status: 'paused' } }, 'paused'],
    [{ key: 'execution_status', value: 'dancing' }, undefined],
  ])('reads %j', (update, expected) => {
    const event = { ...statusChange('s', 'idle'), ...update } as ConversationEvent
    expect(foldEvents(event).loggedStatus?.value).toBe(expected)
  })

  it('adds up the usage of all models', () => {
    const metrics = (cost: number) => ({
      accumulated_cost: cost,
      accumulated_token_usage: { prompt_tokens: 10, completion_tokens: 2 },
    })
    const event = {
      ...statusChange('s', 'idle'),
      key: 'stats',
      value: { usage_to_metrics: { agent: metrics(1), condenser: metrics(0.5) } },
    } as ConversationEvent
    expect(foldEvents(event).usage).toMatchObject({
      accumulated_cost: 1.5,
      accumulated_token_usage: { prompt_tokens: 20, completion_tokens: 4 },
    })
  })

  it('notes the position of what may have changed files, not of reading', () => {
    expect(foldEvents(action('a', 'x'), fileEdited('o1', 'view')).filesTouchedSeq).toBe(0)
    expect(foldEvents(action('a', 'x'), fileEdited('o1', 'create')).filesTouchedSeq).toBe(2)
    expect(foldEvents(action('a', 'x'), observation('o1', 'a', 'done')).filesTouchedSeq).toBe(2)
  })
})

describe('a streaming reply', () => {
  const started: Frame = { type: 'item_started', item_id: 'r', attempt: 0 }
  const delta = (order: number, content: string, attempt = 0): Frame => ({
    type: 'delta',
    item_id: 'r',
    attempt,
    order,
    kind: 'text',
    content,
  })
  const streamed = (...frames: Frame[]) => fold(emptyView, frames).streaming

  it('grows piece by piece, each piece once', () => {
    expect(streamed(started, delta(0, 'Hel'), delta(1, 'lo'), delta(1, 'lo'))).toMatchObject([
      { text: 'Hello', hasGap: false },
    ])
  })

  it('is replaced by the durable event of its id and does not come back', () => {
    const [reply] = durable([agentMessage('r', 'Hello')])
    expect(streamed(started, delta(0, 'Hel'), reply as Frame, delta(1, 'lo'))).toEqual([])
  })

  it('begins anew with the next attempt and ignores the earlier one', () => {
    const next: Frame = { ...started, attempt: 1 }
    expect(streamed(started, delta(0, 'Hm'), next, delta(1, 'old'), delta(0, 'New', 1))).toMatchObject([
      { text: 'New' },
    ])
  })

  it('goes when it is aborted', () => {
    const aborted: Frame = { type: 'item_aborted', item_id: 'r', attempt: 0, reason: 'stopped' }
    expect(streamed(started, delta(0, 'Hel'), aborted)).toEqual([])
  })

  it('says that pieces are missing when the connection came in the middle', () => {
    expect(streamed(delta(7, 'lo'))).toMatchObject([{ text: 'lo', hasGap: true }])
  })

  it('goes when the run has ended while we were away', () => {
    const [ended] = durable([statusChange('s', 'paused')])
    const sync: Frame = { type: 'sync', from_seq: 1, through_seq: 1 }
    expect(streamed(started, delta(0, 'Hel'), sync, ended as Frame)).toEqual([])
  })
})

describe('a model that could not be asked', () => {
  const reason = {
    code: 'LLMServiceUnavailableError',
    detail: 'HTTP 529',
    model: 'sonnet',
    wait_seconds: 8,
    next_attempt: 3,
    max_attempts: 8,
  }
  const aborted: Frame = { type: 'item_aborted', item_id: 'r', attempt: 2, reason: 'x', retry: reason }
  const started: Frame = { type: 'item_started', item_id: 'r', attempt: 3 }
  const retryAfter = (...frames: Frame[]) => fold(emptyView, [aborted, ...frames], 1_000).retry

  it('is asked again so many seconds after the news arrived', () => {
    expect(retryAfter()).toEqual({ reason, at: 9_000 })
  })

  it('is still waited for when the user adds something', () => {
    expect(retryAfter(...durable([userMessage('m', 'hurry')]))).not.toBeNull()
  })

  it.each<[string, Frame[]]>([
    ['the next attempt has begun', [started]],
    ['the wait ended early', [{ type: 'item_aborted', item_id: 'r', attempt: 2, reason: 'stopped' }]],
    ['the agent has gone on', durable([agentMessage('r', 'hello')])],
    ['the run has ended', durable([statusChange('s', 'error')])],
    ['the connection is a new one', [{ type: 'sync', from_seq: 1, through_seq: 0 }]],
  ])('is no longer waited for once %s', (_, frames) => {
    expect(retryAfter(...frames)).toBeNull()
  })
})

describe('any way a stream is delivered', () => {
  const log = sampleLog()
  const whole = fold(emptyView, sampleStream(log, 0))

  it.each(Array.from({ length: 40 }, (_, seed) => seed))(
    'folds to the same view, cut at random (seed %i)',
    (seed) => {
      const random = seededRandom(seed)
      let view: ConversationView = emptyView
      let rest = sampleStream(log, 0)
      while (rest.length > 0) {
        const size = 1 + Math.floor(random() * 12)
        view = fold(view, rest.slice(0, size))
        rest = rest.slice(size)
      }
      expect(view).toEqual(whole)
    },
  )

  it('folds to exactly the log after a hundred reconnects with repetitions', () => {
    const random = seededRandom(4711)
    let view: ConversationView = emptyView
    for (let reconnect = 0; reconnect < 100; reconnect += 1) {
      const from = Math.max(0, view.lastSeq - Math.floor(random() * 4))
      const stream = sampleStream(log, from)
      const lost = stream.slice(0, Math.floor(random() * 12))
      view = fold(view, random() < 0.3 ? [...lost, ...lost] : lost)
    }
    view = fold(view, sampleStream(log, view.lastSeq))
    expect({ ...view, throughSeq: null }).toEqual({ ...whole, throughSeq: null })
    const eventIds = view.items.flatMap((item) =>
      item.type === 'tool' ? [item.action.id, item.outcome?.id] : [item.event.id],
    )
    expect(eventIds.toSorted()).toEqual(log.map((event) => event.id).toSorted())
  })
})
