import { screen } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { expect, test } from 'vitest'
import { proofSubprotocols } from '@/api/page-proof'
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
        return HttpResponse.json({ ...fakeUser(), page_proof: 'proof-of-the-page' })
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
        return HttpResponse.json({ ...fakeUser(), page_proof: 'proof-of-the-page' })
      }),
    ],
  })
  expect(await screen.findByRole('alert')).toHaveTextContent('The server cannot be reached.')
  reachable = true
  await user.click(screen.getByRole('button', { name: 'Try again' }))
  expect(await screen.findByRole('heading', { name: 'What should be done?' })).toBeVisible()
})

test('the proof of a sign-in goes with every later request and stream, and goes when the user signs out', async () => {
  const proofs: (string | null)[] = []
  const { user } = renderApp({
    url: '/sign-in#token=once-only',
    user: null,
    extra: [
      http.post(ENDPOINT, () => {
        server.use(
          http.get('*/api/v1/settings/profiles', ({ request }) => {
            proofs.push(request.headers.get('X-Slipway-Proof'))
          }),
          http.delete('*/api/v1/sign-in/session', ({ request }) => {
            proofs.push(request.headers.get('X-Slipway-Proof'))
            return new HttpResponse(null, { status: 204 })
          }),
          ...handlers(),
        )
        return HttpResponse.json({ ...fakeUser(), page_proof: 'proof-of-the-page' })
      }),
    ],
  })
  expect(await screen.findByRole('heading', { name: 'What should be done?' })).toBeVisible()
  expect(proofSubprotocols()).toEqual(['slipway', 'slipway.proof.proof-of-the-page'])
  await user.click(screen.getByRole('button', { name: 'Sign out' }))
  expect(await screen.findByText(/terminal prints a link/)).toBeVisible()
  expect(new Set(proofs)).toEqual(new Set(['proof-of-the-page']))
  expect(proofSubprotocols()).toEqual(['slipway'])
})

test.each([
  ['page_proof_missing', /You have to sign in again/],
  ['account_disabled', /Your account is disabled/],
])('after the refusal %s the page says why one has to sign in again', async (code, words) => {
  renderApp({
    extra: [http.get('*/api/v1/users/me', () => problem(401, { code, detail: 'Sign in again.' }))],
  })
  expect(await screen.findByText(words)).toBeVisible()
})

test('somebody who is not signed in is led to the explanation of how to', async () => {
  const { router } = renderApp({ url: '/settings', user: null })
  expect(await screen.findByText(/terminal prints a link/)).toBeVisible()
  expect(router.state.location.pathname).toBe('/sign-in')
})

test('providers are offered before the link, and lead to the server', async () => {
  renderApp({
    url: '/sign-in',
    user: null,
    identityProviders: [{ name: 'acme', title: 'Acme', url: '/api/v1/sign-in/oidc/acme' }],
  })
  expect(await screen.findByRole('link', { name: 'Continue with Acme' })).toHaveAttribute(
    'href',
    '/api/v1/sign-in/oidc/acme',
  )
  expect(screen.getByText('slipway sign-in-link')).toBeVisible()
})

test.each([
  ['saml_no_role', /None of your groups gives you a role here/],
  ['saml_xmlsec1_missing', /the program xmlsec1 is not installed/],
])('the refusal %s of a SAML provider is explained', async (code, text) => {
  renderApp({ url: `/sign-in#refused=${code}`, user: null })
  expect(await screen.findByText(text)).toBeVisible()
})

test('a sign-in that a provider refused is explained once', async () => {
  renderApp({ url: '/sign-in#refused=oidc_no_role', user: null })
  expect(await screen.findByText(/None of your groups gives you a role here/)).toBeVisible()
  expect(window.location.hash).toBe('')
})
