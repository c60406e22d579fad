import { http, HttpResponse } from 'msw'
import { describe, expect, it } from 'vitest'
import { emptyView, fold, withOlder, type ConversationView } from './reduce'
import { withWhole } from './shortened'
import { shownView } from '@/events/pages'
import { createConversationStore } from '@/events/store'
import { eventIs, type ConversationEvent, type DurableFrame, type Frame } from '@/events/wire/types'
import {
  action,
  goalUpdate,
  observation,
  sampleLog,
  seededRandom,
  statusChange,
  userMessage,
} from '@/test/sample-log'
import { server } from '@/test/server'

const log: ConversationEvent[] = [
  ...sampleLog(),
  userMessage('again', 'more'),
  goalUpdate('goal'),
  statusChange('running-again', 'running'),
  action('never-answered', 'sleep'),
  ...sampleLog().map((event) => ({
    ...event,
    id: `second-${event.id}`,
    ...('action_id' in event && { action_id: `second-${event.action_id}` }),
    ...('tool_call_id' in event && { tool_call_id: `second-${event.tool_call_id}` }),
  })),
  action('open', 'make'),
]
const frames: DurableFrame[] = log.map((event, index) => ({ type: 'durable', seq: index + 1, event }))
const whole = fold(emptyView, frames)

/**
 * Returns the events before `firstSeq` that a server would send: state updates, and actions without an
 * answer.
 */
const stateBefore = (firstSeq: number) =>
  frames.filter(
    ({ seq, event }) =>
      seq < firstSeq && (eventIs(event, 'ConversationStateUpdateEvent') || event.id === 'never-answered'),
  )
const openedAt = (firstSeq: number) => {
  const opening: Frame = {
    type: 'window',
    first_seq: firstSeq,
    last_seq: log.length,
    state: stateBefore(firstSeq),
  }
  return fold(emptyView, [opening, ...frames.slice(firstSeq - 1)])
}
const stateOf = ({
  lastSeq,
  loggedStatus,
  usage,
  goal,
  tasks,
  mcpChanges,
  agentBrowser,
}: ConversationView) => ({
  lastSeq,
  loggedStatus,
  usage,
  goal,
  tasks,
  mcpChanges,
  agentBrowser,
})

describe('a log that is opened from a window', () => {
  it.each(Array.from({ length: 25 }, (_, seed) => seed))(
    'has the state of the whole log, and its events once all pages are there (seed %i)',
    (seed) => {
      const random = seededRandom(seed)
      let view = openedAt(2 + Math.floor(random() * (log.length - 1)))
      expect(stateOf(view)).toEqual(stateOf(whole))
      expect([...view.openActions.keys()].toSorted()).toEqual(['never-answered', 'open'].toSorted())
      while (view.firstSeq > 1) {
        const begin = Math.max(0, view.firstSeq - 1 - (1 + Math.floor(random() * 30)))
        view = withOlder(view, frames.slice(begin, view.firstSeq - 1))
        expect(stateOf(view)).toEqual(stateOf(whole))
      }
      const { items, history, openActions } = whole
      expect(view).toMatchObject({ items, history })
      expect(view.openActions).toEqual(openActions)
      expect(view.earlierActions).toEqual([])
    },
  )

  it('does not show an answer whose action is before the window', () => {
    const answered = frames.findIndex(({ event }) => event.id === 'o1')
    expect(openedAt(answered + 1).items[0]).not.toMatchObject({ event: { id: 'o1' } })
  })

  it('leaves out what was undone, also when that is loaded later', () => {
    const told = [
      { ...userMessage('m1', 'one'), parent_id: null },
      { ...action('a1', 'rm'), parent_id: 'm1' },
      { ...observation('o1', 'a1', ''), parent_id: 'a1' },
      { ...statusChange('back', ''), key: 'leaf_event_id', value: 'm1' },
      { ...userMessage('m2', 'two'), parent_id: 'm1' },
    ] as ConversationEvent[]
    const [first, ...rest] = told.map((event, index): DurableFrame => ({
      type: 'durable',
      seq: index + 1,
      event,
    }))
    const view = fold(emptyView, [{ type: 'window', first_seq: 5, last_seq: 5, state: [] }, rest[3]!])
    const ids = (of: ConversationView) => of.items.map((item) => item.type === 'event' && item.event.id)
    expect(ids(view)).toEqual(['m2'])
    expect(ids(withOlder(view, [first!, ...rest.slice(0, 3)]))).toEqual(['m1', 'back', 'm2'])
  })

  it('takes no page that does not end where it begins', () => {
    const view = openedAt(20)
    expect(withOlder(view, frames.slice(0, 10))).toBe(view)
    expect(withOlder(view, frames.slice(30))).toBe(view)
  })
})

describe('the store', () => {
  it('asks for the page before the first event, once at a time, and says what went wrong', async () => {
    const asked: string[] = []
    let isAway = true
    server.use(
      http.get('*/api/v1/conversation/c/events/window', ({ request }) => {
        const before = Number(new URL(request.url).searchParams.get('before_seq'))
        asked.push(String(before))
        if (isAway) return HttpResponse.json({ code: 'away', detail: 'Away.' }, { status: 503 })
        const events = frames.slice(Math.max(0, before - 31), before - 1)
        return HttpResponse.json({ first_seq: before - events.length, last_seq: before - 1, events })
      }),
    )
    const store = createConversationStore('c', { schedule: (callback) => callback() })
    store.receive({ type: 'window', first_seq: 41, last_seq: log.length, state: stateBefore(41) })
    frames.slice(40).forEach((frame) => store.receive(frame))
    await store.loadOlder()
    expect(store.getState().older).toMatchObject({ isLoading: false, error: { status: 503 } })
    isAway = false
    await Promise.all([store.loadOlder(), store.loadOlder()])
    await store.loadOlder()
    await store.loadOlder()
    expect(asked).toEqual(['41', '41', '11'])
    expect(store.getState().view.items).toEqual(whole.items)
  })
})

describe('a passage around an event that a link leads to', () => {
  const asked: string[] = []
  const opened = () => {
    asked.length = 0
    const store = createConversationStore('c', { schedule: (callback) => callback() })
    store.receive({ type: 'window', first_seq: 61, last_seq: log.length, state: stateBefore(61) })
    frames.slice(60).forEach((frame) => store.receive(frame))
    return store
  }
  const answers = (page: number) =>
    server.use(
      http.get('*/api/v1/conversation/c/events/window', ({ request }) => {
        const params = new URL(request.url).searchParams
        const [before, after, around] = ['before_seq', 'after_seq', 'around_event_id'].map((name) =>
          params.get(name),
        )
        asked.push(`${before ?? ''}-${after ?? ''}-${around ?? ''}`)
        const place = frames.findIndex(({ event }) => event.id === around)
        if (around && place === -1)
          return HttpResponse.json({ code: 'event_not_found', detail: 'No.' }, { status: 404 })
        const begin = around ? place - page / 2 : before ? Number(before) - 1 - page : Number(after)
        const events = frames.slice(Math.max(0, begin), before ? Number(before) - 1 : begin + page)
        return HttpResponse.json({ first_seq: events[0]?.seq, last_seq: events.at(-1)?.seq, events })
      }),
    )

  it('grows both ways until it is one with what happens now', async () => {
    answers(10)
    const store = opened()
    const linked = frames[30]!.event.id
    await store.openPassage(linked)
    const span = () => [store.getState().passage?.view.firstSeq, store.getState().passage?.view.lastSeq]
    expect(span()).toEqual([26, 35])
    expect(shownView(store.getState()).history.some(({ event }) => event.id === linked)).toBe(true)
    await store.loadOlder()
    await Promise.all([store.loadNewer(), store.loadNewer()])
    expect(span()).toEqual([16, 45])
    // A new event in the meantime belongs to the view, and not to the passage.
    const next: DurableFrame = { type: 'durable', seq: log.length + 1, event: userMessage('now', 'Now') }
    store.receive(next)
    expect(span()).toEqual([16, 45])
    await store.loadNewer()
    await store.loadNewer()
    expect(asked).toEqual([`--${linked}`, '26--', '-35-', '-45-', '-55-'])
    expect(store.getState()).toMatchObject({ passage: null, view: { firstSeq: 16 } })
    await store.loadOlder()
    await store.loadOlder()
    expect(store.getState().view.items).toEqual(fold(whole, [next]).items)
  })

  it('is not needed where it reaches up to the view, and ends when a message is sent', async () => {
    answers(20)
    const store = opened()
    await store.openPassage(frames[55]!.event.id)
    expect(store.getState()).toMatchObject({ passage: null, view: { firstSeq: 46 } })
    await store.openPassage(frames[20]!.event.id)
    expect(store.getState().passage).not.toBeNull()
    store.putOutgoing({ id: 'mine', text: 'Go on', state: 'sending', error: null })
    expect(store.getState().passage).toBeNull()
  })

  it('says that the log does not have the event, and why a page did not come', async () => {
    answers(10)
    const store = opened()
    await store.openPassage('elsewhere')
    expect(store.getState()).toMatchObject({ absent: 'elsewhere', passage: null, older: { error: null } })
    await store.openPassage(frames[30]!.event.id)
    server.use(http.get('*/api/v1/conversation/c/events/window', () => HttpResponse.error()))
    await store.loadNewer()
    expect(store.getState().passage?.newer.error).not.toBeNull()
    store.leavePassage()
    expect(shownView(store.getState())).toBe(store.getState().view)
  })
})

it('knows which outputs are shortened, and takes the whole of one', () => {
  const [asked, answered] = [action('a', 'cat'), observation('o', 'a', 'begin … end')]
  const blobs = [{ media_type: 'text/plain' }]
  const view = fold(emptyView, [
    { type: 'durable', seq: 1, event: asked },
    { type: 'durable', seq: 2, event: answered, blobs },
  ])
  expect([...view.shortened]).toEqual(['o'])
  const whole = withWhole(view, observation('o', 'a', 'all of it'))
  expect(whole.shortened.size).toBe(0)
  expect(whole).toMatchObject({
    items: [{ type: 'tool', outcome: { observation: { content: [{ text: 'all of it' }] } } }],
    history: [{ seq: 1 }, { seq: 2, event: { observation: { content: [{ text: 'all of it' }] } } }],
  })
})
