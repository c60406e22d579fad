/**
 * Loads the parts of a long log that the stream does not send. Older events are added before the events of
 * the view. A link may lead to an event far before the view. Then the page shows a passage: the events around
 * this event. The passage grows in both directions. When it reaches the view, both are joined.
 */
import { eventsAt, type EventRange } from '@/api/conversations/events'
import { ApiError } from '@/api/errors'
import { fold, passageOf, withOlder, withPassage, type ConversationView } from '@/events/fold/reduce'
import type { DurableFrame } from '@/events/wire/types'

/** The state of loading a page of events: whether it is loading, and the error if it failed. */
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
  /**
   * The passage around an event that a link leads to. It is shown in place of the view. If it is null, the
   * view is shown.
   */
  passage: Passage | null
  /** The state of loading the events before the shown events. */
  older: PageLoading
  /** The id of the last event that was searched for and that is not in the log. */
  absent: string | null
}

interface PagedStore {
  getState: () => PagedState
  setState: (change: Partial<PagedState> | ((state: PagedState) => Partial<PagedState>)) => void
}

/** Returns the events that the timeline shows: the passage, or else the view with the newest events. */
export const shownView = ({ view, passage }: PagedState): ConversationView => passage?.view ?? view

export interface Pages {
  /**
   * Adds a page of events before the shown events. Does nothing if there are none or if a page is loading.
   */
  loadOlder: () => Promise<void>
  /** Adds a page of events after the passage. Does nothing if there is no passage or if a page is loading. */
  loadNewer: () => Promise<void>
  /** Shows a passage around an event that is not in the view. */
  openPassage: (eventId: string) => Promise<void>
  /** Ends the passage and shows the view again. */
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

/**
 * Returns the state with older events added to the passage or to the view. The passage may have ended since
 * the events were requested.
 */
function before({ view, passage }: PagedState, events: readonly DurableFrame[]) {
  if (passage === null) return { view: withOlder(view, events) }
  return { passage: { ...passage, view: withOlder(passage.view, events) } }
}

/** Returns the passage beside the view, or the view joined with the passage if both meet. */
function joined(view: ConversationView, passage: ConversationView) {
  if (passage.lastSeq < view.firstSeq - 1) return { passage: { view: passage, newer: IDLE } }
  return { view: withPassage(view, passage), passage: null }
}
