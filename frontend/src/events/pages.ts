/**
 * The parts of a long log that the stream does not bring. Older events come before those of the view. An event that
 * a link leads to, far before the view, opens a passage: the events around it, which grows in both directions until
 * it reaches the view and becomes part of it.
 */
import { eventsAt, type EventRange } from '@/api/conversations/events'
import { ApiError } from '@/api/errors'
import { fold, passageOf, withOlder, withPassage, type ConversationView } from '@/events/fold/reduce'
import type { DurableFrame } from '@/events/wire/types'

/** How it stands with a page: whether it is under way, and why it did not come. */
export interface PageLoading {
  isLoading: boolean
  error: unknown
}

export interface Passage {
  view: ConversationView
  newer: PageLoading
}

export interface PagedState {
  view: ConversationView
  /** A part of the log around an event that a link leads to, shown in place of the view. Null: the view is shown. */
  passage: Passage | null
  /** How it stands with the events before those that are shown. */
  older: PageLoading
  /** The id of the last event that was looked for and is not in the log. */
  absent: string | null
}

interface PagedStore {
  getState: () => PagedState
  setState: (change: Partial<PagedState> | ((state: PagedState) => Partial<PagedState>)) => void
}

/** What the timeline shows: the passage, or what happens now. */
export const shownView = ({ view, passage }: PagedState): ConversationView => passage?.view ?? view

export interface Pages {
  /** Adds a page of events before those that are shown, if there are any and none is under way. */
  loadOlder: () => Promise<void>
  /** Adds a page of events after those of the passage, if there is a passage and no page is under way. */
  loadNewer: () => Promise<void>
  /** Shows the events around one that is not in the view. */
  openPassage: (eventId: string) => Promise<void>
  /** Shows the view again. */
  leavePassage: () => void
}

const IDLE: PageLoading = { isLoading: false, error: null }
const LOADING: PageLoading = { isLoading: true, error: null }
export const NO_PAGES = { passage: null, older: IDLE, absent: null } as const
const failed = (error: unknown): PageLoading => ({ isLoading: false, error })

export function pagesOf(conversationId: string, store: PagedStore): Pages {
  const read = async (range: EventRange) => (await eventsAt<DurableFrame>(conversationId, range)).events

  async function loadOlder() {
    const state = store.getState()
    const { firstSeq } = shownView(state)
    if (firstSeq <= 1 || state.older.isLoading) return
    store.setState({ older: LOADING })
    try {
      const events = await read({ before_seq: firstSeq })
      store.setState((current) => ({ ...before(current, events), older: IDLE }))
    } catch (error) {
      store.setState({ older: failed(error) })
    }
  }

  async function loadNewer() {
    const { passage } = store.getState()
    if (passage === null || passage.newer.isLoading) return
    setNewer(LOADING)
    try {
      const events = await read({ after_seq: passage.view.lastSeq })
      store.setState((state) =>
        state.passage === null ? {} : joined(state.view, fold(state.passage.view, events)),
      )
    } catch (error) {
      setNewer(failed(error))
    }
  }

  function setNewer(newer: PageLoading) {
    store.setState(({ passage }) => ({ passage: passage && { ...passage, newer } }))
  }

  async function openPassage(eventId: string) {
    if (store.getState().older.isLoading) return
    store.setState({ older: LOADING })
    try {
      const events = await read({ around_event_id: eventId })
      store.setState(({ view }) => ({ ...joined(view, passageOf(events)), older: IDLE }))
    } catch (error) {
      const isAbsent = error instanceof ApiError && error.code === 'event_not_found'
      store.setState(isAbsent ? { absent: eventId, older: IDLE } : { older: failed(error) })
    }
  }

  return { loadOlder, loadNewer, openPassage, leavePassage: () => store.setState({ passage: null }) }
}

/** The state with older events in what is shown. The passage may have ended since they were asked for. */
function before({ view, passage }: PagedState, events: readonly DurableFrame[]) {
  if (passage === null) return { view: withOlder(view, events) }
  return { passage: { ...passage, view: withOlder(passage.view, events) } }
}

/** The passage, or the view that has become one with it. */
function joined(view: ConversationView, passage: ConversationView) {
  if (passage.lastSeq < view.firstSeq - 1) return { passage: { view: passage, newer: IDLE } }
  return { view: withPassage(view, passage), passage: null }
}
