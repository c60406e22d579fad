import { screen } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { expect, test } from 'vitest'
import { fakeUser } from '@/test/factories'
import { handlers, problem } from '@/test/handlers'
import { renderApp } from '@/test/render-app'
import { server } from '@/test/server'

const ENDPOINT = '*/api/v1/sign-in/link'

test('a link from the terminal signs in, leaves no token in the address and opens the start page', async () => {
  const tokens: unknown[] = []
  let hashWhenSent: string | null = null
  renderApp({
    url: '/sign-in#token=once-only',
    user: null,
    extra: [
      http.post(ENDPOINT, async ({ request }) => {
        hashWhenSent = window.location.hash
        tokens.push(await request.json())
        server.use(...handlers())
        return HttpResponse.json(fakeUser())
      }),
    ],
  })
  expect(await screen.findByRole('heading', { name: 'What should be done?' })).toBeVisible()
  expect(hashWhenSent).toBe('')
  expect(tokens).toEqual([{ token: 'once-only' }])
})

test('a used link explains itself and names the command that makes a new one', async () => {
  renderApp({
    url: '/sign-in#token=used',
    user: null,
    extra: [
      http.post(ENDPOINT, () => problem(401, { code: 'link_expired', detail: 'The link was used already.' })),
    ],
  })
  expect(await screen.findByRole('alert')).toHaveTextContent('The link was used already.')
  expect(screen.getByText('slipway sign-in-link')).toBeVisible()
})

test('a link is kept and can be tried again when the server could not be reached', async () => {
  let reachable = false
  const { user } = renderApp({
    url: '/sign-in#token=once-only',
    user: null,
    extra: [
      http.post(ENDPOINT, () => {
        if (!reachable) return HttpResponse.error()
        server.use(...handlers())
        return HttpResponse.json(fakeUser())
      }),
    ],
  })
  expect(await screen.findByRole('alert')).toHaveTextContent('The server cannot be reached.')
  reachable = true
  await user.click(screen.getByRole('button', { name: 'Try again' }))
  expect(await screen.findByRole('heading', { name: 'What should be done?' })).toBeVisible()
})

test('somebody who is not signed in is led to the explanation of how to', async () => {
  const { router } = renderApp({ url: '/settings', user: null })
  expect(await screen.findByText(/terminal prints a link/)).toBeVisible()
  expect(router.state.location.pathname).toBe('/sign-in')
})
