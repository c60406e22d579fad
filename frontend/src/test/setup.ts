import '@testing-library/jest-dom/vitest'
import { cleanup, configure } from '@testing-library/react'
import { toast } from 'sonner'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { server } from './server'

// A condition comes true when it does: a busy machine takes longer than the second that is the default.
configure({ asyncUtilTimeout: 60_000 })

// jsdom has no layout: what Radix, cmdk and the virtual list ask of it must exist.
class ResizeObserverStub implements ResizeObserver {
  observe() {}
  unobserve() {}
  disconnect() {}
}
globalThis.ResizeObserver ??= ResizeObserverStub
Element.prototype.scrollIntoView ??= () => {}
Element.prototype.hasPointerCapture ??= () => false
Element.prototype.setPointerCapture ??= () => {}
Element.prototype.releasePointerCapture ??= () => {}
window.scrollTo = () => {}
window.matchMedia ??= (media) =>
  ({
    matches: media.includes('min-width'),
    media,
    addEventListener: () => {},
    removeEventListener: () => {},
  }) as unknown as MediaQueryList

// An unexpected request fails its test, also where the page copes with the refusal.
let unexpected: string[] = []
const noteUnexpected = ({ request }: { request: Request }) =>
  unexpected.push(`${request.method} ${request.url}`)

beforeAll(() => {
  server.listen({ onUnhandledRequest: 'error' })
  server.events.on('request:unhandled', noteUnexpected)
})
// One hook, because the order matters: pages must be unmounted before the handlers are removed.
afterEach(() => {
  cleanup()
  // The next page would show the messages that are still open.
  toast.dismiss()
  server.resetHandlers()
  localStorage.clear()
  delete document.documentElement.dataset.theme
  const requests = unexpected
  unexpected = []
  expect(requests).toEqual([])
})
afterAll(() => server.close())
