/**
 * A simulated event stream of the app server for component tests. It sends a log first, and then the frames
 * that the test sends.
 */
import { act } from '@testing-library/react'
import { ws } from 'msw'
import type { AppConversation, StartTask } from '@/api/types'
import type { ConversationEvent, Frame } from '@/events/wire/types'

export interface StreamServerOptions {
  conversation: AppConversation
  task: StartTask
  events?: ConversationEvent[]
  /**
   * The first position that is sent to a page that has no events yet. If it is left out, the whole log is
   * sent.
   */
  windowFrom?: number
}

const stream = ws.link('*/api/v1/conversation/:id/events/stream')

export function streamServer({ conversation, task, events = [], windowFrom = 1 }: StreamServerOptions) {
  const log = [...events]
  const positions: number[] = []
  const send = (frame: Frame) => stream.broadcast(JSON.stringify(frame))

  const handler = stream.addEventListener('connection', ({ client }) => {
    const known = Number(client.url.searchParams.get('after_seq'))
    positions.push(known)
    const reply = (frame: Frame) => client.send(JSON.stringify(frame))
    const afterSeq = known === 0 ? windowFrom - 1 : known
    if (afterSeq > known) reply({ type: 'window', first_seq: windowFrom, last_seq: log.length, state: [] })
    reply({ type: 'sync', from_seq: afterSeq + 1, through_seq: log.length })
    reply({ type: 'start_task', task })
    reply({ type: 'conversation', conversation })
    log
      .slice(afterSeq)
      .forEach((event, index) => reply({ type: 'durable', seq: afterSeq + 1 + index, event }))
  })

  return {
    handler,
    /** The `after_seq` of each connection so far. */
    positions,
    send: (...frames: Frame[]) => act(() => frames.forEach(send)),
    append: (...added: ConversationEvent[]) =>
      act(() => added.forEach((event) => send({ type: 'durable', seq: log.push(event), event }))),
    drop: (code: number) => act(() => stream.clients.forEach((client) => client.close(code))),
  }
}
