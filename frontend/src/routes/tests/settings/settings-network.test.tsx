import { screen, waitFor, within } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { expect, test } from 'vitest'
import type { NetworkRecord } from '@/api/sandboxes/network'
import type { NetworkCredential } from '@/api/sandboxes/network-credentials'
import { renderApp } from '@/test/render-app'

const ROOT = '*/api/v1/settings/network'

const stored: NetworkCredential = {
  id: 'c1',
  host: 'registry.example.org',
  port: 443,
  path_prefix: '/team',
  scope: 'user',
  repository: null,
  kind: 'basic',
  username: 'me',
  header: '',
  is_own: true,
  is_allowed: false,
  last_used_at: '2026-11-22T08:00:00Z',
  updated_at: '2026-11-22T08:00:00Z',
}

function network(credentials: NetworkCredential[], sent: unknown[]) {
  return [
    http.get(ROOT, () =>
      HttpResponse.json({
        mode: null,
        default_mode: 'allowlist',
        hosts: [],
        default_hosts: ['pypi.org'],
        repositories: [],
        is_enforced: true,
      }),
    ),
    http.get(`${ROOT}/records`, () => HttpResponse.json({ items: [], next_page_id: null })),
    http.get(`${ROOT}/credentials`, () => HttpResponse.json(credentials)),
    http.post(`${ROOT}/credentials`, async ({ request }) => {
      sent.push(await request.json())
      credentials.splice(0, 1, stored)
      return HttpResponse.json(stored, { status: 201 })
    }),
    http.get(`${ROOT}/credentials/c1/uses`, () =>
      HttpResponse.json({
        items: [
          {
            id: 'u1',
            sandbox_id: 's1',
            conversations: [{ id: 'a', title: 'Mend the crane' }],
            method: 'GET',
            path: '/team/harbour',
            at: '2026-11-22T08:00:00Z',
          },
        ],
        next_page_id: null,
      }),
    ),
    http.delete(`${ROOT}/credentials/c1`, () => {
      credentials.length = 0
      return new HttpResponse(null, { status: 204 })
    }),
  ]
}

test('a credential is added; its value does not stay in the page', async () => {
  const sent: unknown[] = []
  const { user } = renderApp({ url: '/settings/network', extra: network([], sent) })
  await user.click(await screen.findByRole('button', { name: 'Add a credential' }))
  const form = within(screen.getByRole('form', { name: 'Add a credential' }))
  await user.type(form.getByLabelText('Host'), 'https://registry.example.org')
  await user.type(form.getByLabelText('Token or password'), 'short')
  await user.click(form.getByRole('button', { name: 'Save the credential' }))
  expect(await form.findByText('At least 8 characters.')).toBeVisible()
  expect(form.getByText(/Enter only the host/)).toBeVisible()
  expect(sent).toEqual([])

  await user.clear(form.getByLabelText('Host'))
  await user.type(form.getByLabelText('Host'), 'registry.example.org')
  await user.selectOptions(form.getByLabelText('Sent as'), 'User name and password')
  await user.type(form.getByLabelText('User name'), 'me')
  await user.type(form.getByLabelText('Only below this path'), '/team')
  await user.clear(form.getByLabelText('Token or password'))
  await user.type(form.getByLabelText('Token or password'), 'a-long-token')
  await user.click(form.getByRole('button', { name: 'Save the credential' }))
  expect(await screen.findByText('registry.example.org/team')).toBeVisible()
  expect(sent).toEqual([
    {
      host: 'registry.example.org',
      port: 443,
      path_prefix: '/team',
      scope: 'user',
      repository: null,
      kind: 'basic',
      username: 'me',
      header: '',
      value: 'a-long-token',
      allow: true,
    },
  ])
  expect(screen.queryByLabelText('Token or password')).toBeNull()
})

test('a credential says where it goes and what it was used for, is replaced and removed', async () => {
  const sent: unknown[] = []
  const { user } = renderApp({ url: '/settings/network', extra: network([stored], sent) })
  expect(await screen.findByText('registry.example.org/team')).toBeVisible()
  expect(screen.getByText('Host not allowed')).toBeVisible()
  await user.click(screen.getByText('What it was used for'))
  expect(await screen.findByText('GET /team/harbour')).toBeVisible()
  expect(screen.getByRole('link', { name: /Mend the crane/ })).toHaveAttribute('href', '/conversations/a')

  await user.click(
    screen.getByRole('button', { name: 'Replace the credential for registry.example.org/team' }),
  )
  const form = within(screen.getByRole('form', { name: 'Replace' }))
  await user.type(form.getByLabelText('Token or password'), 'another-token')
  await user.click(form.getByRole('button', { name: 'Save the credential' }))
  await waitFor(() => expect(sent).toHaveLength(1))
  expect(sent[0]).toMatchObject({
    host: 'registry.example.org',
    path_prefix: '/team',
    value: 'another-token',
  })

  await user.click(
    screen.getByRole('button', { name: 'Remove the credential for registry.example.org/team' }),
  )
  await user.click(await screen.findByRole('button', { name: 'Remove credential' }))
  expect(await screen.findByText('No credentials')).toBeVisible()
})

function records(...found: Partial<NetworkRecord>[]) {
  const at = new Date(Date.now() - 60 * 60 * 1000).toISOString()
  const items: NetworkRecord[] = found.map((each, number) => ({
    id: `r${number}`,
    sandbox_id: 's1',
    conversations: [],
    host: `host${number}.example.org`,
    port: 443,
    reason: null,
    client: 'curl',
    count: 1,
    bytes_sent: 10,
    bytes_received: 20,
    first_at: at,
    last_at: at,
    ...each,
  }))
  return http.get(`${ROOT}/records`, () => HttpResponse.json({ items, next_page_id: null }))
}

test('what was tried leads to its conversation; where several share the sandbox, to each of them', async () => {
  const [mend, paint] = [
    { id: 'a', title: 'Mend the crane' },
    { id: 'b', title: null },
  ]
  const shown = records({ conversations: [mend] }, { conversations: [mend, paint] }, { conversations: [] })
  renderApp({ url: '/settings/network', extra: [shown, ...network([], [])] })

  const rowOf = async (host: string) => within((await screen.findByText(`${host}:443`)).closest('li')!)
  const one = await rowOf('host0.example.org')
  const several = await rowOf('host1.example.org')
  const none = await rowOf('host2.example.org')
  expect(one.getByRole('link')).toHaveAccessibleName(/ago, in Mend the crane$/)
  expect(one.getByRole('link')).toHaveAttribute('href', '/conversations/a')
  const links = within(several.getByRole('list', { name: 'Conversations that share the sandbox' }))
  expect(links.getAllByRole('link').map((link) => [link.textContent, link.getAttribute('href')])).toEqual([
    ['Mend the crane', '/conversations/a'],
    ['Untitled conversation', '/conversations/b'],
  ])
  expect(none.queryByRole('link')).toBeNull()
})
