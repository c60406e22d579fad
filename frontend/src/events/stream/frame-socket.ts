/**
 * Keeps one WebSocket to the app server open. It connects, waits between attempts, and connects again when
 * the network is back. The caller handles the frames. This module does not depend on React.
 */
import { proofSubprotocols } from '@/api/page-proof'

export type Connection =
  | { state: 'connecting' }
  | { state: 'open' }
  | { state: 'waiting'; attempt: number; retryAt: number }
  | { state: 'signed_out' }
  | { state: 'not_found' }
  | { state: 'closed' }

export interface FrameSocketOptions<F> {
  /** Returns the address. It is called at every connect. */
  url: (origin: string) => string
  /**
   * Handles a frame. It calls `setOpen` when the stream is ready. It returns false if the socket must connect
   * again.
   */
  take: (frame: F, setOpen: () => void) => boolean
  onConnection: (connection: Connection) => void
  environment?: Partial<SocketEnvironment>
}

/** The browser's functions, so that tests can replace them. */
export interface SocketEnvironment {
  createSocket: (url: string) => WebSocket
  setTimer: (callback: () => void, milliseconds: number) => unknown
  clearTimer: (timer: unknown) => void
  now: () => number
  random: () => number
  origin: () => string
  /** Calls `callback` when the network or the tab becomes active again. Returns a function that ends this. */
  onWake: (callback: (cause: 'online' | 'visible') => void) => () => void
}

export interface EventSocket {
  close: () => void
  retryNow: () => void
}

const BASE_DELAY_MS = 400
const MAX_DELAY_MS = 10_000
const CONNECT_TIMEOUT_MS = 15_000
const CLOSE_NOT_SIGNED_IN = 4001
const CLOSE_NOT_FOUND = 4004

/**
 * Returns the delay before reconnect number `attempt` (1, 2, …). It doubles up to ten seconds. Its upper half
 * is random.
 */
export function backOffDelay(attempt: number, random: number): number {
  const ceiling = Math.min(MAX_DELAY_MS, BASE_DELAY_MS * 2 ** (attempt - 1))
  return Math.round(ceiling / 2 + (ceiling / 2) * random)
}

export function openFrameSocket<F extends { type: string }>(options: FrameSocketOptions<F>): EventSocket {
  const environment = { ...browserEnvironment, ...options.environment }
  let socket: WebSocket | null = null
  let timer: unknown = null
  let attempt = 0
  let isFinal = false

  function connect() {
    stopTimer()
    abandon()
    const url = options.url(environment.origin().replace(/^http/, 'ws'))
    options.onConnection({ state: 'connecting' })
    const opened = environment.createSocket(url)
    socket = opened
    // A server that accepts the connection and then sends nothing is treated like a server that is not
    // reachable.
    timer = environment.setTimer(retryLater, CONNECT_TIMEOUT_MS)
    opened.onmessage = (message: MessageEvent) => receive(message.data)
    opened.onclose = (event: CloseEvent) => handleClose(event.code)
  }

  function receive(data: unknown) {
    const frame = readFrame<F>(data)
    if (frame === null || !options.take(frame, setOpen)) retryLater()
  }

  function setOpen() {
    stopTimer()
    attempt = 0
    options.onConnection({ state: 'open' })
  }

  function handleClose(code: number) {
    if (code === CLOSE_NOT_SIGNED_IN) return finish({ state: 'signed_out' })
    if (code === CLOSE_NOT_FOUND) return finish({ state: 'not_found' })
    retryLater()
  }

  function retryLater() {
    if (isFinal) return
    stopTimer()
    abandon()
    attempt += 1
    const delay = backOffDelay(attempt, environment.random())
    options.onConnection({ state: 'waiting', attempt, retryAt: environment.now() + delay })
    timer = environment.setTimer(connect, delay)
  }

  /** Closes the socket and ignores everything that still comes from it. */
  function abandon() {
    if (socket === null) return
    socket.onmessage = null
    socket.onclose = null
    socket.close()
    socket = null
  }

  function stopTimer() {
    environment.clearTimer(timer)
    timer = null
  }

  function finish(connection: Connection) {
    if (isFinal) return
    isFinal = true
    stopTimer()
    abandon()
    stopListening()
    options.onConnection(connection)
  }

  const stopListening = environment.onWake((cause) => {
    // After a network loss, an old socket may stay half open without a close event. A new connection costs
    // little, so the socket always connects again.
    if (cause === 'online' || socket === null) connect()
  })

  connect()
  return {
    close: () => finish({ state: 'closed' }),
    retryNow: () => {
      if (!isFinal && socket === null) connect()
    },
  }
}

/**
 * Returns the frame in `data`. Returns null if it is not a frame; the stream then resumes from the last good
 * position.
 */
function readFrame<F extends { type: string }>(data: unknown): F | null {
  if (typeof data !== 'string') return null
  try {
    const parsed: unknown = JSON.parse(data)
    return typeof parsed === 'object' && parsed !== null && 'type' in parsed ? (parsed as F) : null
  } catch {
    return null
  }
}

const browserEnvironment: SocketEnvironment = {
  createSocket: (url) => new WebSocket(url, proofSubprotocols()),
  setTimer: (callback, milliseconds) => window.setTimeout(callback, milliseconds),
  clearTimer: (timer) => {
    if (typeof timer === 'number') window.clearTimeout(timer)
  },
  now: () => Date.now(),
  random: () => Math.random(),
  origin: () => window.location.origin,
  onWake: (callback) => {
    const handleOnline = () => callback('online')
    const handleVisibility = () => {
      if (document.visibilityState === 'visible') callback('visible')
    }
    window.addEventListener('online', handleOnline)
    document.addEventListener('visibilitychange', handleVisibility)
    return () => {
      window.removeEventListener('online', handleOnline)
      document.removeEventListener('visibilitychange', handleVisibility)
    }
  },
}
