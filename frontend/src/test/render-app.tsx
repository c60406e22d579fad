import { render } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import type { RequestHandler, WebSocketHandler } from 'msw'
import { createApp } from '@/app'
import { handlers, type MockServerData } from './handlers'
import { server } from './server'

export interface RenderAppOptions extends MockServerData {
  url?: string
  /** Routes beside, or in place of, those of the world. */
  extra?: (RequestHandler | WebSocketHandler)[]
}

/** Mounts the real app at `url` against a small server; returns the user's hands and the router. */
export function renderApp({ url = '/', extra = [], ...world }: RenderAppOptions = {}) {
  server.use(...extra, ...handlers(world))
  window.history.replaceState(null, '', url)
  const { App, router, queryClient } = createApp()
  const view = render(<App />)
  return { user: userEvent.setup(), router, queryClient, ...view }
}
