import { render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { http, HttpResponse } from 'msw'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import '@/i18n/i18n'
import { reloadOnceForMissingParts } from '@/lib/browser/reload-once'
import { server } from '@/test/server'
import { ErrorBoundary } from './error-boundary'

let stop = () => {}
/**
 * The number of times that the page asked whether a server is there. The answer is no, because jsdom cannot
 * reload.
 */
let asked = 0

beforeEach(() => {
  asked = 0
  server.use(
    http.get('/alive', () => {
      asked += 1
      return HttpResponse.error()
    }),
  )
  vi.spyOn(console, 'error').mockImplementation(() => {})
  stop = reloadOnceForMissingParts({ isServerThere: () => Promise.resolve(false) })
})
afterEach(() => stop())

function Broken({ error }: { error: Error }): never {
  throw error
}

async function tryAgainAfter(error: Error) {
  render(
    <ErrorBoundary title="It failed">
      <Broken error={error} />
    </ErrorBoundary>,
  )
  await userEvent.click(screen.getByRole('button', { name: 'Try again' }))
}

it('reloads the page for a part that did not arrive, since browsers never fetch it again', async () => {
  const error = new TypeError('Failed to fetch dynamically imported module')
  window.dispatchEvent(Object.assign(new Event('vite:preloadError'), { payload: error }))
  await tryAgainAfter(error)
  await vi.waitFor(() => expect(asked).toBe(1))
})

it('says what may have happened to a part that did not arrive, and that the server does not answer', async () => {
  const error = new TypeError('Failed to fetch dynamically imported module: http://localhost/assets/a.js')
  window.dispatchEvent(Object.assign(new Event('vite:preloadError'), { payload: error }))
  render(
    <ErrorBoundary title="It failed">
      <Broken error={error} />
    </ErrorBoundary>,
  )
  const alert = screen.getByRole('alert')
  expect(alert).toHaveTextContent('The server may be restarting, or it was upgraded.')
  expect(alert).not.toHaveTextContent('dynamically imported')
  await userEvent.click(screen.getByRole('button', { name: 'Try again' }))
  await screen.findByText(/The server does not answer yet\./)
  expect(screen.getByRole('button', { name: 'Try again' })).toBeEnabled()
})

it('only renders again after any other error', async () => {
  await tryAgainAfter(new Error('A bug'))
  expect(asked).toBe(0)
})
