import { describe, expect, it } from 'vitest'
import { backOffDelay, type Connection } from './frame-socket'
import { openEventSocket, streamUrl } from './socket'
import { sampleLog, sampleStream, seededRandom } from '@/test/sample-log'
import type { Frame } from '@/events/wire/types'

class FakeSocket {
  onmessage: ((message: { data: unknown }) => void) | null = null
  onclose: ((event: { code: number }) => void) | null = null
  isClosed = false
  constructor(readonly url: string) {}
  close() {
    this.isClosed = true
  }
  send(...frames: Frame[]) {
    for (const frame of frames) this.onmessage?.({ data: JSON.stringify(frame) })
  }
  drop(code: number) {
    this.onclose?.({ code })
  }
  get afterSeq() {
    return Number(new URL(this.url).searchParams.get('after_seq'))
  }
}

/** A test environment with a clock that the test moves. `socket` is the newest connection. */
function open(random = () => 0.5) {
  const sockets: FakeSocket[] = []
  const connections: Connection[] = []
  const frames: Frame[] = []
  let timers: { callback: () => void; milliseconds: number; id: number }[] = []
  let nextTimer = 1
  let wake: (cause: 'online' | 'visible') => void = () => {}
  let lastSeq = 0
  const opened = openEventSocket({
    conversationId: 'c1',
    lastSeq: () => lastSeq,
    onFrame: (frame) => {
      frames.push(frame)
      if (frame.type === 'durable') lastSeq = frame.seq
    },
    onConnection: (connection) => connections.push(connection),
    environment: {
      createSocket: (url) => {
        sockets.push(new FakeSocket(url))
        return sockets.at(-1) as unknown as WebSocket
      },
      setTimer: (callback, milliseconds) => {
        timers.push({ callback, milliseconds, id: nextTimer })
        return nextTimer++
      },
      clearTimer: (id) => {
        timers = timers.filter((timer) => timer.id !== id)
      },
      now: () => 0,
      random,
      origin: () => 'https://host:3000',
      onWake: (callback) => {
        wake = callback
        return () => {
          wake = () => {}
        }
      },
    },
  })
  return {
    opened,
    frames,
    sockets,
    get socket() {
      return sockets.at(-1) as FakeSocket
    },
    get connection() {
      return connections.at(-1) as Connection
    },
    get timers() {
      return timers
    },
    wake: (cause: 'online' | 'visible') => wake(cause),
    elapse() {
      const due = timers
      timers = []
      for (const timer of due) timer.callback()
    },
    seqs: () => frames.flatMap((frame) => (frame.type === 'durable' ? [frame.seq] : [])),
  }
}

const log = sampleLog()
const stream = (after = 0) => sampleStream(log, after)
const event = (seq: number): Frame => ({ type: 'durable', seq, event: log[seq - 1]! })
const sync: Frame = { type: 'sync', from_seq: 1, through_seq: 0 }

describe('the event socket', () => {
  it('speaks to the origin of the page and asks for what follows the last position', () => {
    expect(streamUrl('ws://host:3000', 'a b', 7)).toBe(
      'ws://host:3000/api/v1/conversation/a%20b/events/stream?after_seq=7',
    )
    expect(open().socket.url).toBe('wss://host:3000/api/v1/conversation/c1/events/stream?window=200')
  })

  it('is open once the server has said what it will replay', () => {
    const world = open()
    expect(world.connection.state).toBe('connecting')
    world.socket.send(sync)
    expect(world.connection.state).toBe('open')
  })

  it('resumes after the last event it delivered', () => {
    const world = open()
    world.socket.send(sync, event(1), event(2))
    world.socket.drop(1006)
    expect(world.connection.state).toBe('waiting')
    world.elapse()
    expect(world.socket.afterSeq).toBe(2)
  })

  it('drops repeated events', () => {
    const world = open()
    world.socket.send(sync, event(1), event(1), event(2), event(1))
    expect(world.seqs()).toEqual([1, 2])
  })

  it('connects anew when a position is missing and hands on nothing behind the gap', () => {
    const world = open()
    world.socket.send(sync, event(1), event(3))
    expect(world.socket.isClosed).toBe(true)
    expect(world.seqs()).toEqual([1])
    world.elapse()
    expect(world.socket.afterSeq).toBe(1)
  })

  it('connects anew after something that is no frame, and passes over types it does not know', () => {
    const world = open()
    world.socket.send(sync, { type: 'news' } as never, event(1))
    expect(world.seqs()).toEqual([1])
    world.socket.onmessage?.({ data: '<html>' })
    expect(world.connection.state).toBe('waiting')
  })

  it.each([1000, 1006, 1012, 1013])('comes back after close code %i', (code) => {
    const world = open()
    world.socket.drop(code)
    world.elapse()
    expect(world.sockets).toHaveLength(2)
  })

  it.each([
    [4004, 'not_found'],
    [4001, 'signed_out'],
  ])('stops for good at close code %i', (code, state) => {
    const world = open()
    world.socket.drop(code)
    world.wake('online')
    world.opened.retryNow()
    world.elapse()
    expect(world.connection.state).toBe(state)
    expect(world.sockets).toHaveLength(1)
  })

  it('waits longer after each failure, never more than ten seconds, and starts over after a success', () => {
    const world = open()
    const delays = Array.from({ length: 9 }, () => {
      world.socket.drop(1006)
      const delay = world.timers[0]!.milliseconds
      world.elapse()
      return delay
    })
    expect(delays).toEqual([300, 600, 1200, 2400, 4800, 7500, 7500, 7500, 7500])
    world.socket.send(sync)
    world.socket.drop(1006)
    expect(world.timers[0]!.milliseconds).toBe(300)
  })

  it('spreads the delays of many readers', () => {
    expect([backOffDelay(20, 0), backOffDelay(20, 1)]).toEqual([5_000, 10_000])
  })

  it('gives up on a server that accepts and stays silent', () => {
    const world = open()
    world.elapse()
    expect(world.connection.state).toBe('waiting')
  })

  it('tries at once when the tab is looked at again, and when the user asks', () => {
    const world = open()
    world.socket.drop(1006)
    world.wake('visible')
    expect(world.sockets).toHaveLength(2)
    world.socket.drop(1006)
    world.opened.retryNow()
    expect(world.sockets).toHaveLength(3)
  })

  it('replaces a connection that the network may have cut without a word', () => {
    const world = open()
    world.socket.send(sync, event(1))
    world.wake('visible')
    expect(world.sockets).toHaveLength(1)
    world.wake('online')
    expect(world.sockets[0]!.isClosed).toBe(true)
    expect(world.socket.afterSeq).toBe(1)
  })

  it('hears nothing more once closed', () => {
    const world = open()
    const { socket } = world
    world.opened.close()
    socket.send(sync, event(1))
    world.wake('online')
    expect(world.frames).toEqual([])
    expect(world.connection.state).toBe('closed')
    expect(world.timers).toEqual([])
  })

  it('delivers exactly the log through a hundred broken connections', () => {
    const random = seededRandom(99)
    const world = open(random)
    for (let round = 0; round < 100; round += 1) {
      const sent = stream(world.socket.afterSeq)
      world.socket.send(...sent.slice(0, Math.floor(random() * 6)))
      if (random() < 0.2) world.wake('online')
      else world.socket.drop(1006)
      world.elapse()
    }
    world.socket.send(...stream(world.socket.afterSeq))
    expect(world.seqs()).toEqual(log.map((_, index) => index + 1))
  })
})

it('goes on after the window when the connection is lost within it', () => {
  const world = open()
  world.socket.send(
    { type: 'window', first_seq: 41, last_seq: 42, state: [] },
    { type: 'sync', from_seq: 40, through_seq: 42 },
    { type: 'durable', seq: 41, event: log[0]! },
  )
  expect(world.frames.map((frame) => frame.type)).toEqual(['window', 'sync', 'durable'])
  world.socket.drop(1006)
  world.elapse()
  expect(world.socket.afterSeq).toBe(41)
})
