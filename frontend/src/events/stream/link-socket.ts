import type { SocketEnvironment } from './frame-socket'

const PATH = '/api/v1/linked-conversation/stream'

/**
 * Opens the stream of the conversation that a read-only link shows. A WebSocket cannot send its token as a
 * header.
 */
export function linkEnvironment(token: string): Partial<SocketEnvironment> {
  return {
    createSocket: (url) => {
      const own = new URL(url)
      own.pathname = PATH
      own.searchParams.delete('window') // a link has no route for older events, so it sends all events at once
      return new WebSocket(own, ['slipway', `slipway.link.${token}`])
    },
  }
}
