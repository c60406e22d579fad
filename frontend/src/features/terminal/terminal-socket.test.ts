import { describe, expect, it, vi } from 'vitest'
import type { SocketEnvironment } from '@/events/stream/frame-socket'
import { openTerminalSocket, type TerminalState } from './terminal-socket'

class FakeSocket {
  readyState: number = WebSocket.CONNECTING
  binaryType = 'blob'
  sent: unknown[] = []
  onopen: (() => void) | null = null
  onmessage: ((event: { data: unknown }) => void) | null = null
  onclose: ((event: { code: number }) => void) | null = null
  readonly url: string
  constructor(url: string) {
    this.url = url
  }
  send = (data: unknown) => this.sent.push(data)
  close = vi.fn()
  open() {
    this.readyState = WebSocket.OPEN
    this.onopen?.()
  }
  print(text: string) {
    this.onmessage?.({ data: new TextEncoder().encode(text).buffer })
  }
  end(code: number, message?: object) {
    if (message) this.onmessage?.({ data: JSON.stringify(message) })
    this.readyState = WebSocket.CLOSED
    this.onclose?.({ code })
  }
}

function opened() {
  const sockets: FakeSocket[] = []
  const states: TerminalState[] = []
  let output = ''
  const timers: (() => void)[] = []
  let wake: (cause: 'online' | 'visible') => void = () => {}
  const stopListening = vi.fn(() => {
    wake = () => {}
  })
  const environment: Partial<SocketEnvironment> = {
    createSocket: (url) => {
      const socket = new FakeSocket(url)
      sockets.push(socket)
      return socket as unknown as WebSocket
    },
    setTimer: (callback) => timers.push(callback),
    clearTimer: () => {},
    random: () => 0.5,
    origin: () => 'https://slipway.example',
    onWake: (callback) => {
      wake = callback
      return stopListening
    },
  }
  const onOpen = vi.fn(() => {
    output = ''
  })
  const terminal = openTerminalSocket({
    conversationId: 'c1',
    environment,
    onOpen,
    onState: (state) => states.push(state),
    onOutput: (bytes) => {
      output += new TextDecoder().decode(bytes)
    },
  })
  const newest = () => sockets.at(-1)!
  return {
    terminal,
    sockets,
    states,
    timers,
    stopListening,
    newest,
    wake: () => wake('visible'),
    output: () => output,
  }
}

describe('the socket of the terminal', () => {
  it('passes on what is typed and printed, and the size as soon as it is open', () => {
    const { terminal, newest, output, states } = opened()
    terminal.resize({ columns: 90, rows: 20 })
    terminal.type('lost')
    newest().open()
    newest().print('§ $ ')
    terminal.type('ls\r')
    expect(newest().url).toBe('wss://slipway.example/api/v1/app-conversations/c1/terminal')
    expect(newest().sent).toEqual([
      '{"type":"resize","columns":90,"rows":20}',
      new TextEncoder().encode('ls\r'),
    ])
    expect(output()).toBe('§ $ ')
    expect(states).toEqual([{ kind: 'connecting' }, { kind: 'open' }])
  })

  it('connects again after a loss, with the same size, and shows the last output once', () => {
    const { terminal, sockets, newest, output, states, timers } = opened()
    terminal.resize({ columns: 90, rows: 20 })
    newest().open()
    newest().print('before')
    newest().end(1006)
    expect(states.at(-1)).toEqual({ kind: 'lost' })
    timers.at(-1)?.()
    expect(sockets).toHaveLength(2)
    newest().open()
    newest().print('before and after')
    expect(newest().sent).toEqual(['{"type":"resize","columns":90,"rows":20}'])
    expect(output()).toBe('before and after')
  })

  it('connects at once when the page is visible again', () => {
    const { sockets, newest, wake } = opened()
    wake()
    expect(sockets).toHaveLength(1)
    newest().end(1006)
    wake()
    expect(sockets).toHaveLength(2)
  })

  it.each([
    [1000, { type: 'ended', exit_code: 7 }, { kind: 'ended', exitCode: 7 }],
    [
      4001,
      { type: 'error', code: 'not_authenticated', detail: 'Sign in.' },
      { kind: 'refused', detail: 'Sign in.' },
    ],
    [1011, { type: 'error', code: 'shell_not_started', detail: 'No.' }, { kind: 'refused', detail: 'No.' }],
  ])('does not connect again after %d %o', (code, message, state) => {
    const { states, timers, newest, stopListening } = opened()
    newest().open()
    newest().end(code, message)
    expect(states.at(-1)).toEqual(state)
    expect(timers).toEqual([])
    expect(stopListening).toHaveBeenCalled()
  })

  it('connects again when the sandbox does not answer yet', () => {
    const { states, timers, newest } = opened()
    newest().end(4009, { type: 'error', code: 'agent_server_error', detail: 'No answer.' })
    expect(states.at(-1)).toEqual({ kind: 'lost' })
    expect(timers).toHaveLength(1)
  })

  it('stays closed', () => {
    const { terminal, sockets, newest, wake } = opened()
    newest().open()
    const socket = newest()
    terminal.close()
    expect(socket.close).toHaveBeenCalled()
    expect(socket.onclose).toBeNull()
    wake()
    expect(sockets).toHaveLength(1)
  })
})
