import { screen, within } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { expect, test } from 'vitest'
import type { IdentityConnection, ProviderOverview } from '@/api/people/identities'
import { renderApp } from '@/test/render-app'

const CONNECTED: IdentityConnection = {
  provider: 'acme',
  title: 'Acme',
  connected_at: '2026-11-01T08:00:00Z',
  email: 'ada@example.org',
}

function openWith(url: string, ...connections: IdentityConnection[]) {
  let stored = connections
  return renderApp({
    url,
    extra: [
      http.get('*/api/v1/web-sessions', () => HttpResponse.json([])),
      http.get('*/api/v1/identities', () => HttpResponse.json(stored)),
      http.delete('*/api/v1/identities/:provider', () => {
        stored = stored.map((each) => ({ ...each, connected_at: null, email: null }))
        return new HttpResponse(null, { status: 204 })
      }),
    ],
  })
}

test('a connected account shows its address and is disconnected after a question', async () => {
  const { user } = openWith('/settings/browsers', CONNECTED)
  const section = await screen.findByRole('region', { name: 'Connected accounts' })
  expect(await within(section).findByText(/ada@example.org/)).toBeVisible()
  await user.click(within(section).getByRole('button', { name: 'Disconnect Acme' }))
  await user.click(await screen.findByRole('button', { name: 'Disconnect' }))
  expect(await screen.findByText('Acme is disconnected')).toBeVisible()
  expect(await within(section).findByText('Not connected')).toBeVisible()
  expect(within(section).getByRole('button', { name: 'Connect Acme' })).toBeVisible()
})

test('what came back from the provider is said once: a refusal with its reason', async () => {
  openWith('/settings/browsers#refused=oidc_identity_taken', { ...CONNECTED, connected_at: null })
  expect(await screen.findByText('Your account could not be connected')).toBeVisible()
  expect(screen.getByText(/signs in to another account here/)).toBeVisible()
  expect(window.location.hash).toBe('')
})

test('without a provider there is no such section', async () => {
  openWith('/settings/browsers')
  expect(await screen.findByRole('region', { name: 'Signed-in browsers' })).toBeVisible()
  expect(screen.queryByRole('region', { name: 'Connected accounts' })).toBeNull()
})

const SAML: ProviderOverview = {
  name: 'acme',
  title: 'Acme',
  protocol: 'saml',
  issuer: 'https://id.example.org/saml',
  addresses: [{ purpose: 'acs', url: 'https://slipway.example.org/api/v1/sign-in/saml/acme/acs' }],
  problem: { code: 'saml_xmlsec1_missing', detail: 'There is no xmlsec1.', fix: 'Install it.' },
}

test('administrators see what to register at a provider, and what is wrong with it', async () => {
  renderApp({
    url: '/settings/people',
    extra: [
      http.get('*/api/v1/people', () => HttpResponse.json([])),
      http.get('*/api/v1/administration/sign-in-providers', () => HttpResponse.json([SAML])),
    ],
  })
  const section = await screen.findByRole('region', { name: 'Single sign-on' })
  expect(within(section).getByText('SAML 2.0')).toBeVisible()
  expect(within(section).getByText('https://slipway.example.org/api/v1/sign-in/saml/acme/acs')).toBeVisible()
  expect(within(section).getByRole('alert')).toHaveTextContent('There is no xmlsec1.Install it.')
})
