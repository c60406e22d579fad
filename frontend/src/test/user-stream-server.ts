/** A simulated user stream of the app server for component tests. */
import { act } from '@testing-library/react'
import { ws } from 'msw'
import type { AppConversation } from '@/api/types'
import type { UserFrame } from '@/events/stream/user-stream'
import { fakeSpendingLimit } from './model-factories'

const stream = ws.link('*/api/v1/users/me/stream')

/** Each connection gets a snapshot of the conversations at that moment. */
export function userStreamServer(conversations: () => AppConversation[] = () => []) {
  let connections = 0
  const handler = stream.addEventListener('connection', ({ client }) => {
    connections += 1
    const snapshot: UserFrame = {
      type: 'snapshot',
      conversations: conversations(),
      start_tasks: [],
      spending: fakeSpendingLimit(),
    }
    client.send(JSON.stringify(snapshot))
  })
  return {
    handler,
    /** The number of connections so far. */
    connections: () => connections,
    send: (...frames: UserFrame[]) =>
      act(() => frames.forEach((frame) => stream.broadcast(JSON.stringify(frame)))),
    drop: (code: number) => act(() => stream.clients.forEach((client) => client.close(code))),
  }
}
