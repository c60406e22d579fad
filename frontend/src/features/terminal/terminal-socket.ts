/**
 * Keeps the WebSocket to the terminal of a conversation open. Binary messages are what the terminal prints and
 * what the user types. This module does not depend on React.
 */
import {
  backOffDelay,
  browserEnvironment,
  CLOSE_NOT_FOUND,
  CLOSE_NOT_SIGNED_IN,
  type SocketEnvironment,
} from '@/events/stream/frame-socket'

export type TerminalState =
  | { kind: 'connecting' }
  | { kind: 'open' }
  /** The connection was lost, and the next attempt follows. */
  | { kind: 'lost' }
  | { kind: 'ended'; exitCode: number }
  | { kind: 'refused'; detail: string }

export interface TerminalSize {
  columns: number
  rows: number
}

export interface TerminalSocketOptions {
  conversationId: string
  /** Called when a connection is open. The server then sends the last output again. */
  onOpen: () => void
  onOutput: (output: Uint8Array) => void
  onState: (state: TerminalState) => void
  environment?: Partial<SocketEnvironment>
}

export interface TerminalSocket {
  type: (text: string) => void
  resize: (size: TerminalSize) => void
  close: () => void
}

type Message = { type: 'ended'; exit_code: number } | { type: 'error'; code: string; detail: string }

export function openTerminalSocket(options: TerminalSocketOptions): TerminalSocket {
  const environment = { ...browserEnvironment, ...options.environment }
  const url = `/api/v1/app-conversations/${options.conversationId}/terminal`
  let socket: WebSocket | null = null
  let timer: unknown = null
  let attempt = 0
  let size: TerminalSize | null = null
  let last: Message | null = null

  function connect() {
    environment.clearTimer(timer)
    leave()
    last = null
    options.onState({ kind: 'connecting' })
    const opened = environment.createSocket(environment.origin().replace(/^http/, 'ws') + url)
    socket = opened
    opened.binaryType = 'arraybuffer'
    opened.onopen = () => {
      options.onOpen()
      if (size !== null) sendSize(size)
    }
    opened.onmessage = ({ data }: MessageEvent<ArrayBuffer | string>) => {
      if (typeof data === 'string') {
        last = JSON.parse(data) as Message
        return
      }
      attempt = 0
      options.onState({ kind: 'open' })
      options.onOutput(new Uint8Array(data))
    }
    opened.onclose = (event) => handleClose(event.code)
  }

  function handleClose(code: number) {
    socket = null
    if (last?.type === 'ended') return finish({ kind: 'ended', exitCode: last.exit_code })
    const isFinal = code === CLOSE_NOT_SIGNED_IN || code === CLOSE_NOT_FOUND
    if (last !== null && (isFinal || last.code === 'shell_not_started'))
      return finish({ kind: 'refused', detail: last.detail })
    attempt += 1
    options.onState({ kind: 'lost' })
    timer = environment.setTimer(connect, backOffDelay(attempt, environment.random()))
  }

  function finish(state: TerminalState) {
    stopListening()
    options.onState(state)
  }

  /** Closes the socket and ignores everything that still comes from it. */
  function leave() {
    if (socket === null) return
    socket.onopen = socket.onmessage = socket.onclose = null
    socket.close()
    socket = null
  }

  function sendSize({ columns, rows }: TerminalSize) {
    if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ type: 'resize', columns, rows }))
  }

  const stopListening = environment.onWake((cause) => {
    if (cause === 'online' || socket === null) connect()
  })
  const encoder = new TextEncoder()
  connect()
  return {
    type: (text) => {
      if (socket?.readyState === WebSocket.OPEN) socket.send(encoder.encode(text))
    },
    resize: (next) => {
      size = next
      sendSize(next)
    },
    close: () => {
      environment.clearTimer(timer)
      stopListening()
      leave()
    },
  }
}
