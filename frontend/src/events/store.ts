/**
 * The store of an open conversation. It folds the stream into a view, and keeps the user's messages until the
 * log contains them. The view changes at most once per animation frame, independent of the number of frames
 * that arrive.
 */
import { createStore, type StoreApi } from 'zustand/vanilla'
import { wholeEvent } from '@/api/conversations/events'
import { emptyView, fold } from '@/events/fold/reduce'
import { NO_PAGES, pagesOf, type PagedState, type Pages } from '@/events/pages'
import type { Connection, EventSocket, SocketEnvironment } from '@/events/stream/frame-socket'
import { openEventSocket } from '@/events/stream/socket'
import { withWhole } from '@/events/fold/shortened'
import { eventIs, type ConversationEvent, type Frame } from '@/events/wire/types'
import { readable } from '@/events/wire/well-formed'

/** A message of the user that the log does not contain yet. Its event will have the same `id`. */
export interface OutgoingMessage {
  id: string
  text: string
  state: 'sending' | 'sent' | 'queued' | 'failed'
  error: string | null
}

export interface ConversationState extends PagedState {
  connection: Connection
  outgoing: readonly OutgoingMessage[]
}

export interface ConversationStore extends StoreApi<ConversationState>, Pages {
  /**
   * Opens the stream. Returns a function that closes it. The state stays, so the stream can be opened again.
   */
  connect: () => () => void
  retryNow: () => void
  /** Replaces a shortened event by the complete event. Throws the errors of the request. */
  loadWhole: (eventId: string) => Promise<void>
  /**
   * Folds a frame into the view. The frame comes from the stream, or from an HTTP reply that arrives before
   * the stream's frame.
   */
  receive: (frame: Frame) => void
  /** Adds or changes an outgoing message. Does not add a message whose event is in the log already. */
  putOutgoing: (message: OutgoingMessage) => void
  dropOutgoing: (id: string) => void
}

export interface StoreOptions {
  /** Messages that the log did not contain yet when the page was closed. */
  outgoing?: readonly OutgoingMessage[]
  environment?: Partial<SocketEnvironment>
  /** Runs the callback once, soon. The default is the next animation frame. */
  schedule?: (callback: () => void) => void
}

export function createConversationStore(
  conversationId: string,
  options: StoreOptions = {},
): ConversationStore {
  const store = createStore<ConversationState>(() => ({
    view: emptyView,
    connection: { state: 'connecting' },
    outgoing: options.outgoing ?? [],
    ...NO_PAGES,
  }))
  const pages = pagesOf(conversationId, store)
  const schedule = options.schedule ?? nextFrame
  const arrived = new Set<string>()
  let queue: Frame[] = []
  let socket: EventSocket | null = null

  function receive(frame: Frame) {
    queue.push(frame)
    if (queue.length === 1) schedule(flush)
  }

  function flush() {
    if (queue.length === 0) return
    const frames = queue
    queue = []
    for (const id of userMessageIds(frames)) arrived.add(id)
    store.setState(({ view, outgoing }) => ({
      view: fold(view, frames),
      outgoing: withoutArrived(outgoing, arrived),
    }))
  }

  function connect() {
    socket?.close()
    const opened = openEventSocket({
      conversationId,
      lastSeq: () => {
        flush() // received frames count as known, even if the tab was too busy to show them
        return store.getState().view.lastSeq
      },
      onFrame: receive,
      onConnection: (connection) => store.setState({ connection }),
      environment: options.environment,
    })
    socket = opened
    return () => opened.close()
  }

  async function loadWhole(eventId: string) {
    const event = await wholeEvent<ConversationEvent>(conversationId, eventId)
    const { view, passage } = store.getState()
    const history = [...view.history, ...(passage?.view.history ?? [])]
    const seq = history.find((each) => each.event.id === eventId)?.seq
    if (event === null || seq === undefined) return
    const whole = readable(event, seq)
    store.setState((state) => ({
      view: withWhole(state.view, whole),
      passage: state.passage && { ...state.passage, view: withWhole(state.passage.view, whole) },
    }))
  }

  return {
    ...store,
    ...pages,
    connect,
    loadWhole,
    receive,
    retryNow: () => socket?.retryNow(),
    putOutgoing: (message) => {
      // A user who sends a message wants to see it, so the store shows the newest events again.
      if (message.state === 'sending') pages.leavePassage()
      store.setState(({ outgoing }) => ({ outgoing: withoutArrived(upsert(outgoing, message), arrived) }))
    },
    dropOutgoing: (id) =>
      store.setState(({ outgoing }) => ({ outgoing: outgoing.filter((message) => message.id !== id) })),
  }
}

/** Makes a store without a stream. It shows the state that `setState` sets. Its clock does not move. */
export function createStaticStore(): ConversationStore {
  const store = createStore<ConversationState>(() => ({
    view: emptyView,
    connection: { state: 'closed' },
    outgoing: [],
    ...NO_PAGES,
  }))
  const ignore = () => undefined
  return {
    ...store,
    connect: () => ignore,
    loadOlder: () => Promise.resolve(),
    loadNewer: () => Promise.resolve(),
    openPassage: () => Promise.resolve(),
    leavePassage: ignore,
    loadWhole: () => Promise.resolve(),
    retryNow: ignore,
    receive: ignore,
    putOutgoing: ignore,
    dropOutgoing: ignore,
  }
}

/** Ids are compared without dashes, because the wire allows both spellings. */
const canonicalId = (id: string) => id.replaceAll('-', '').toLowerCase()

function userMessageIds(frames: readonly Frame[]): string[] {
  return frames.flatMap((frame) =>
    frame.type === 'durable' &&
    typeof frame.event?.id === 'string' &&
    frame.event.source === 'user' &&
    eventIs(frame.event, 'MessageEvent')
      ? [canonicalId(frame.event.id)]
      : [],
  )
}

function withoutArrived(outgoing: readonly OutgoingMessage[], arrived: ReadonlySet<string>) {
  const left = outgoing.filter((message) => !arrived.has(canonicalId(message.id)))
  return left.length === outgoing.length ? outgoing : left
}

function upsert(outgoing: readonly OutgoingMessage[], message: OutgoingMessage) {
  const isKnown = outgoing.some((each) => each.id === message.id)
  return isKnown ? outgoing.map((each) => (each.id === message.id ? message : each)) : [...outgoing, message]
}

const HIDDEN_TAB_DELAY_MS = 200

/** Browsers paint no frames for a hidden tab. Its view is still updated, but less often. */
function nextFrame(callback: () => void) {
  if (document.visibilityState === 'hidden') window.setTimeout(callback, HIDDEN_TAB_DELAY_MS)
  else window.requestAnimationFrame(callback)
}
