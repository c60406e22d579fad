import { render } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import type { RequestHandler, WebSocketHandler } from 'msw'
import { createApp } from '@/app'
import { handlers, type MockServerData } from './handlers'
import { server } from './server'

export interface RenderAppOptions extends MockServerData {
  url?: string
  /** Routes that are added to the default routes, or that replace them. */
  extra?: (RequestHandler | WebSocketHandler)[]
}

/** Opens the real app at `url` with a simulated server. Returns the simulated user and the router. */
export function renderApp({ url = '/', extra = [], ...world }: RenderAppOptions = {}) {
  server.use(...extra, ...handlers(world))
  window.history.replaceState(null, '', url)
  const { App, router, queryClient } = createApp()
  const view = render(<App />)
  return { user: userEvent.setup(), router, queryClient, ...view }
}
