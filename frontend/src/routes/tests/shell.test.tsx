import { screen, waitFor } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { expect, test } from 'vitest'
import { fakeConversation } from '@/test/factories'
import { renderApp } from '@/test/render-app'

test.each([
  ['api keys', '/settings/api-keys'],
  ['about', '/settings/about'],
])('the command palette opens from the keyboard and goes where one types: %s', async (typed, path) => {
  const { user, router } = renderApp({ conversations: [fakeConversation()] })
  await screen.findByRole('heading', { name: 'What should be done?' })
  await user.keyboard('{Control>}k{/Control}')
  await user.type(await screen.findByPlaceholderText(/Type a command/), `${typed}{Enter}`)
  await waitFor(() => expect(router.state.location.pathname).toBe(path))
})

test('signing out ends the session and returns to the sign-in page', async () => {
  let ended = false
  const { user } = renderApp({
    extra: [
      http.delete('*/api/v1/sign-in/session', () => {
        ended = true
        return new HttpResponse(null, { status: 204 })
      }),
    ],
  })
  await user.click(await screen.findByRole('button', { name: 'Sign out' }))
  expect(await screen.findByRole('heading', { name: 'Sign in' })).toBeVisible()
  expect(ended).toBe(true)
})

test('an address that leads nowhere says so inside the frame', async () => {
  renderApp({ url: '/no/such/page' })
  expect(await screen.findByRole('heading', { name: 'Page not found' })).toBeVisible()
  expect(screen.getByRole('link', { name: 'Back to the start' })).toHaveAttribute('href', '/')
})

test('a server that cannot be reached is named, with a way to try again', async () => {
  renderApp({ extra: [http.get('*/api/v1/users/me', () => HttpResponse.json({}, { status: 403 }))] })
  expect(await screen.findByText('Slipway could not be reached')).toBeVisible()
  expect(screen.getByRole('button', { name: 'Try again' })).toBeVisible()
})
