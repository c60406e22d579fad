/**
 * Keeps the live stream of one conversation open, and resumes it after the last position. The store has one
 * such stream. The frames are delivered in the order of the log, and each durable frame is delivered once.
 */
import { openFrameSocket, type Connection, type EventSocket, type SocketEnvironment } from './frame-socket'
import type { Frame } from '@/events/wire/types'

export interface SocketOptions {
  conversationId: string
  /** Returns the position after which the stream resumes. It is called at every connect. */
  lastSeq: () => number
  onFrame: (frame: Frame) => void
  onConnection: (connection: Connection) => void
  environment?: Partial<SocketEnvironment>
}

/** The number of events that the server sends to a page that has no events yet. */
const WINDOW_EVENTS = 200

export function streamUrl(origin: string, conversationId: string, afterSeq: number): string {
  const path = `${origin}/api/v1/conversation/${encodeURIComponent(conversationId)}/events/stream`
  return afterSeq > 0 ? `${path}?after_seq=${afterSeq}` : `${path}?window=${WINDOW_EVENTS}`
}

export function openEventSocket(options: SocketOptions): EventSocket {
  let delivered = 0
  return openFrameSocket<Frame>({
    url: (origin) => {
      delivered = options.lastSeq()
      return streamUrl(origin, options.conversationId, delivered)
    },
    take: (frame, setOpen) => {
      if (frame.type === 'sync') setOpen()
      if (frame.type === 'window' && delivered === 0) delivered = frame.first_seq - 1
      if (frame.type === 'durable') {
        if (frame.seq <= delivered) return true
        if (frame.seq !== delivered + 1) return false
        delivered = frame.seq
      }
      options.onFrame(frame)
      return true
    },
    onConnection: options.onConnection,
    environment: options.environment,
  })
}
