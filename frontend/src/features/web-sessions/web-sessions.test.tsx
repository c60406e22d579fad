import { screen, waitFor } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { expect, test } from 'vitest'
import type { WebSession } from '@/api/types'
import { renderApp } from '@/test/render-app'

const LINUX =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36'

function fakeWebSession(overrides: Partial<WebSession> = {}): WebSession {
  return {
    id: 'here',
    name: null,
    user_agent: LINUX,
    address: '192.0.2.7',
    created_at: '2026-11-01T08:00:00Z',
    last_used_at: '2026-11-02T08:00:00Z',
    expires_at: '2026-12-01T08:00:00Z',
    is_current: true,
    ...overrides,
  }
}

function openBrowsers(...sessions: WebSession[]) {
  let stored = sessions
  return renderApp({
    url: '/settings/browsers',
    extra: [
      http.get('*/api/v1/web-sessions', () => HttpResponse.json(stored)),
      http.patch('*/api/v1/web-sessions/:id', async ({ params, request }) => {
        const { name } = (await request.json()) as { name: string | null }
        stored = stored.map((session) => (session.id === params.id ? { ...session, name } : session))
        return HttpResponse.json(stored.find(({ id }) => id === params.id))
      }),
      http.delete('*/api/v1/web-sessions/:id', ({ params }) => {
        stored = stored.filter(({ id }) => id !== params.id)
        return new HttpResponse(null, { status: 204 })
      }),
      http.delete('*/api/v1/web-sessions', () => {
        stored = stored.filter((session) => session.is_current)
        return new HttpResponse(null, { status: 204 })
      }),
    ],
  })
}

test('this browser is marked and cannot sign itself out here', async () => {
  openBrowsers(fakeWebSession())
  expect(await screen.findByText('Chrome on Linux')).toBeVisible()
  expect(screen.getByText('This browser')).toBeVisible()
  expect(screen.getByText(/192\.0\.2\.7/)).toBeVisible()
  expect(screen.queryByRole('button', { name: /^Sign out / })).toBeNull()
})

test('a browser gets a name and loses it again', async () => {
  const { user } = openBrowsers(fakeWebSession())
  await user.click(await screen.findByRole('button', { name: 'Rename Chrome on Linux' }))
  await user.type(screen.getByLabelText('Name'), ' Laptop at work ')
  await user.click(screen.getByRole('button', { name: 'Rename' }))
  expect(await screen.findByText('Laptop at work')).toBeVisible()
  expect(screen.getByText(/^Chrome on Linux · Signed in/)).toBeVisible()

  await user.click(await screen.findByRole('button', { name: 'Rename Laptop at work' }))
  await user.clear(screen.getByLabelText('Name'))
  await user.click(screen.getByRole('button', { name: 'Rename' }))
  expect(await screen.findByText('Chrome on Linux')).toBeVisible()
})

test('another browser is signed out', async () => {
  const { user } = openBrowsers(
    fakeWebSession(),
    fakeWebSession({ id: 'there', user_agent: null, is_current: false }),
  )
  await user.click(await screen.findByRole('button', { name: 'Sign out Unknown browser' }))
  expect(await screen.findByText('Unknown browser is signed out')).toBeVisible()
  await waitFor(() => expect(screen.queryByText('Unknown browser')).toBeNull())
})

test('all others are signed out after a question', async () => {
  const { user } = openBrowsers(
    fakeWebSession(),
    fakeWebSession({ id: 'one', user_agent: null, is_current: false }),
    fakeWebSession({ id: 'two', user_agent: null, is_current: false }),
  )
  await user.click(await screen.findByRole('button', { name: 'Sign out all others' }))
  expect(await screen.findByText(/Your API keys stay as they are/)).toBeVisible()
  await user.click(screen.getAllByRole('button', { name: 'Sign out all others' }).at(-1)!)
  expect(await screen.findByText('All other browsers are signed out')).toBeVisible()
  await waitFor(() => expect(screen.queryByText('Unknown browser')).toBeNull())
})
