import { screen, waitFor, within } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { expect, test, vi } from 'vitest'
import type { GitCredential } from '@/api/git/git-credentials'
import type { GitApp, GitDeviceState, SignInHost } from '@/api/git/git-sign-in'
import { renderApp } from '@/test/render-app'

const HOST: SignInHost = { app_id: 'a1', host: 'github.com', provider: 'github', has_device_flow: true }
const GRANTED: GitCredential = {
  id: 'c1',
  host: 'github.com',
  provider: 'github',
  has_stated_provider: true,
  api_url: null,
  username: null,
  push_scope: 'own',
  updated_at: '2026-11-26T08:00:00Z',
  is_signed_in: true,
  installation_id: null,
  scopes: 'repo read:org',
  expires_at: null,
  needs_reconnect: false,
  certificate_authorities: null,
}

function site(stored: GitCredential[]) {
  return [
    http.get('*/api/v1/settings/git-sign-ins', () => HttpResponse.json([HOST])),
    http.get('*/api/v1/settings/git-credentials', () => HttpResponse.json(stored)),
    http.get('*/api/v1/users/git-info', () => HttpResponse.json({ id: '7', login: 'ada', avatar_url: '' })),
  ]
}

test('a code is shown, and asked about with the newest attempt until the host has granted a token', async () => {
  const stored: GitCredential[] = []
  const asked: unknown[] = []
  const states: GitDeviceState[] = [
    { status: 'pending', attempt: 'second', interval: 0.02 },
    { status: 'connected', credential: GRANTED },
  ]
  const { user } = renderApp({
    url: '/settings/git-hosts',
    extra: [
      http.post('*/api/v1/settings/git-sign-ins/device', () =>
        HttpResponse.json({
          attempt: 'first',
          user_code: 'WDJB-MJHT',
          verification_uri: 'https://github.com/login/device',
          interval: 0.02,
          expires_at: '2026-11-26T09:00:00Z',
        }),
      ),
      http.post('*/api/v1/settings/git-sign-ins/device/poll', async ({ request }) => {
        asked.push(await request.json())
        const state = states[asked.length - 1]!
        if (state.status === 'connected') stored.push(GRANTED)
        return HttpResponse.json(state)
      }),
      ...site(stored),
    ],
  })
  await user.click(await screen.findByRole('button', { name: 'Connect github.com with a code' }))
  expect(await screen.findByText('WDJB-MJHT')).toBeVisible()
  expect(screen.getByRole('link', { name: 'Open github.com' })).toHaveAttribute(
    'href',
    'https://github.com/login/device',
  )
  expect(await screen.findByText('Signed in · repo read:org')).toBeVisible()
  expect(screen.queryByText('WDJB-MJHT')).toBeNull()
  expect(asked).toEqual([{ attempt: 'first' }, { attempt: 'second' }])
  expect(screen.getByRole('button', { name: 'Disconnect github.com' })).toBeVisible()
})

test('the browser goes to the host, and what it brings back is handed in once', async () => {
  const assign = vi.fn()
  vi.stubGlobal('location', { ...window.location, assign })
  const { user } = renderApp({
    url: '/settings/git-hosts',
    extra: [
      http.post('*/api/v1/settings/git-sign-ins', () =>
        HttpResponse.json({ authorization_url: 'https://github.com/login/oauth/authorize?state=s' }),
      ),
      ...site([{ ...GRANTED, needs_reconnect: true }]),
    ],
  })
  expect(await screen.findByText('Reconnect')).toBeVisible()
  expect(screen.getByText(/does not renew the token any more/)).toBeVisible()
  await user.click(await screen.findByRole('button', { name: 'Connect github.com' }))
  await waitFor(() => expect(assign).toHaveBeenCalledWith('https://github.com/login/oauth/authorize?state=s'))
  vi.unstubAllGlobals()
})

test('the page for the way back hands in the code, and tells what did not work', async () => {
  const brought: unknown[] = []
  const { router } = renderApp({
    url: '/settings/git-hosts/callback?code=c&state=s',
    extra: [
      http.post('*/api/v1/settings/git-sign-ins/finish', async ({ request }) => {
        brought.push(await request.json())
        return HttpResponse.json(GRANTED)
      }),
      ...site([GRANTED]),
    ],
  })
  expect(await screen.findByText('Signed in · repo read:org')).toBeVisible()
  expect(router.state.location.pathname).toBe('/settings/git-hosts')
  expect(brought).toEqual([{ state: 's', code: 'c' }])
})

test('an administrator registers an application and deletes it; its secret is not kept in the page', async () => {
  const apps: GitApp[] = []
  const sent: unknown[] = []
  const callback_url = 'https://slipway.example.org/settings/git-hosts/callback'
  const { user } = renderApp({
    url: '/settings/git-hosts',
    extra: [
      http.get('*/api/v1/administration/git-apps', () => HttpResponse.json({ callback_url, apps })),
      http.post('*/api/v1/administration/git-apps', async ({ request }) => {
        sent.push(await request.json())
        apps.push({
          id: 'a1',
          host: 'gitlab.com',
          provider: 'gitlab',
          client_id: 'abc',
          has_client_secret: true,
          has_private_key: false,
          api_url: null,
          sign_in_url: null,
          scopes: null,
          certificate_authorities: null,
          callback_url,
          updated_at: '2026-11-26T08:00:00Z',
        })
        return HttpResponse.json(apps[0], { status: 201 })
      }),
      http.delete('*/api/v1/administration/git-apps/a1', () => {
        apps.length = 0
        return new HttpResponse(null, { status: 204 })
      }),
    ],
  })
  const section = within(await screen.findByRole('region', { name: 'Applications for signing in' }))
  expect(await section.findByLabelText('Callback address')).toHaveValue(callback_url)
  await user.selectOptions(section.getByLabelText('Application at'), 'GitLab')
  expect(section.getByLabelText('Host of the application')).toHaveValue('gitlab.com')
  await user.click(section.getByRole('button', { name: 'Save the application' }))
  expect(await section.findByText(/without spaces/)).toBeVisible()
  await user.type(section.getByLabelText('Client ID'), 'abc')
  await user.type(section.getByLabelText('Client secret'), 'hush-hush')
  await user.click(section.getByRole('button', { name: 'Save the application' }))
  expect(await section.findByText('GitLab · abc')).toBeVisible()
  expect(sent).toEqual([
    {
      provider: 'gitlab',
      host: 'gitlab.com',
      client_id: 'abc',
      client_secret: 'hush-hush',
      private_key: null,
      sign_in_url: null,
      api_url: null,
      scopes: null,
      certificate_authorities: null,
    },
  ])
  await waitFor(() => expect(section.getByLabelText('Client secret')).toHaveValue(''))
  await user.click(section.getByRole('button', { name: 'Delete the application for gitlab.com' }))
  await user.click(await screen.findByRole('button', { name: 'Delete application' }))
  await waitFor(() => expect(section.queryByText('GitLab · abc')).toBeNull())
})

test('an installation of a GitHub App is chosen', async () => {
  const stored: GitCredential[] = []
  const callback_url = 'https://slipway.example.org/settings/git-hosts/callback'
  const app: GitApp = {
    id: 'a1',
    host: 'github.com',
    provider: 'github',
    client_id: 'Iv23',
    has_client_secret: true,
    has_private_key: true,
    api_url: null,
    sign_in_url: null,
    scopes: null,
    certificate_authorities: null,
    callback_url,
    updated_at: '2026-11-26T08:00:00Z',
  }
  const root = '*/api/v1/administration/git-apps'
  const { user } = renderApp({
    url: '/settings/git-hosts',
    extra: [
      http.get(root, () => HttpResponse.json({ callback_url, apps: [app] })),
      http.get(`${root}/a1/installations`, () =>
        HttpResponse.json([{ id: '4711', account: 'team', has_all_repositories: false }]),
      ),
      http.post(`${root}/a1/installations/4711/use`, () => {
        stored.push({ ...GRANTED, installation_id: '4711', scopes: 'contents:write' })
        return HttpResponse.json(stored[0])
      }),
      ...site(stored),
    ],
  })
  await user.click(
    await screen.findByRole('button', { name: 'Installations of the application for github.com' }),
  )
  expect(await screen.findByText('Selected repositories')).toBeVisible()
  await user.click(screen.getByRole('button', { name: 'Use the installation of team' }))
  expect(await screen.findByText('Installation 4711 of the GitHub App · contents:write')).toBeVisible()
})
