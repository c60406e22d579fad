import '@testing-library/jest-dom/vitest'
import { cleanup, configure } from '@testing-library/react'
import { toast } from 'sonner'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { server } from './server'

// On a busy machine, a condition may take longer to become true than the default of one second.
configure({ asyncUtilTimeout: 60_000 })

// jsdom has no layout. The functions that Radix, cmdk and the virtual list call must exist.
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

// An unexpected request fails the test, even if the page handles the error.
let unexpected: string[] = []
const noteUnexpected = ({ request }: { request: Request }) =>
  unexpected.push(`${request.method} ${request.url}`)

beforeAll(() => {
  // jsdom reads all rules again for each computed style, and many queries need one. sonner adds a hundred rules.
  for (const style of document.head.querySelectorAll('style')) style.remove()
  server.listen({ onUnhandledRequest: 'error' })
  server.events.on('request:unhandled', noteUnexpected)
})
// This is one hook, because the order matters. Pages must be unmounted before the handlers are removed.
afterEach(() => {
  cleanup()
  // Open messages would appear on the page of the next test.
  toast.dismiss()
  server.resetHandlers()
  localStorage.clear()
  delete document.documentElement.dataset.theme
  const requests = unexpected
  unexpected = []
  expect(requests).toEqual([])
})
afterAll(() => server.close())
