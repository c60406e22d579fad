import { screen, within } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { expect, test } from 'vitest'
import type { AdministeredItem, InheritedItem } from '@/api/people/level-items'
import { fakeUser } from '@/test/factories'
import { problem } from '@/test/handlers'
import { renderApp } from '@/test/render-app'

const SECRET: AdministeredItem = {
  kind: 'secret',
  name: 'STAGING_TOKEN',
  description: 'For staging',
  allows: null,
  level: 'organisation',
  team_id: null,
  team_name: null,
  enforced: false,
  mcp_server: null,
  sandbox_spec: null,
  set_by: 'Ada',
  updated_at: '2026-01-01T10:00:00Z',
  overriding_teams: ['Core'],
  overriding_people: 1,
}
const SERVER: AdministeredItem = {
  ...SECRET,
  kind: 'mcp_server',
  name: 'jira',
  level: 'team',
  team_id: 't1',
  team_name: 'Core',
  mcp_server: {
    transport: 'http',
    url: 'https://jira.example.org/mcp',
    headers: { Authorization: '**********' },
    auth: null,
    sign_in: null,
    wanted_scope: null,
    command: null,
    args: [],
    env: {},
    env_hosts: {},
    cwd: null,
    timeout: 60,
    description: 'For staging',
    enabled: false,
  },
}
const OWNER = { ...fakeUser(), role: 'owner' as const }

function routes(sent: unknown[], given: InheritedItem[] = []) {
  const place = (url: string) => url.split('/administration/items/')[1]
  return [
    http.get('*/api/v1/secrets/search', () => HttpResponse.json({ items: [], next_page_id: null })),
    http.get('*/api/v1/settings/mcp', () => HttpResponse.json({ mcp_config: {} })),
    http.get('*/api/v1/settings/levels/items', () => HttpResponse.json(given)),
    http.get('*/api/v1/administration/items', () => HttpResponse.json([SECRET, SERVER])),
    http.get('*/api/v1/teams', () =>
      HttpResponse.json([
        { id: 't1', name: 'Core', created_at: SECRET.updated_at, member_count: 1, is_member: false },
      ]),
    ),
    http.put('*/api/v1/administration/items/*', async ({ request }) => {
      sent.push([place(request.url), await request.json()])
      return HttpResponse.json(SECRET)
    }),
    http.delete('*/api/v1/administration/items/*', ({ request }) => {
      sent.push(place(request.url))
      return new HttpResponse(null, { status: 204 })
    }),
  ]
}

test('an owner adds a secret for everyone, enforces one and deletes it', async () => {
  const sent: unknown[] = []
  const { user } = renderApp({ url: '/settings/secrets', user: OWNER, extra: routes(sent) })
  const section = await screen.findByRole('region', { name: 'Secrets of the organisation and of teams' })
  expect(await within(section).findByText('For staging · set by Ada')).toBeVisible()
  expect(within(section).getByText('Overridden by teams: Core')).toBeVisible()
  expect(within(section).getByText('Overridden by 1 person')).toBeVisible()
  await user.click(within(section).getByRole('button', { name: 'Change STAGING_TOKEN' }))
  await user.click(screen.getByLabelText('Enforce: lower levels cannot change it'))
  await user.click(screen.getByRole('button', { name: 'Save' }))
  await user.click(await within(section).findByRole('button', { name: 'Add a secret for them' }))
  const dialog = await screen.findByRole('dialog')
  await user.type(within(dialog).getByLabelText('Name'), 'NEW')
  await user.click(within(dialog).getByRole('button', { name: 'Save' }))
  expect(within(dialog).getByText('At least 4 characters.')).toBeVisible()
  await user.type(within(dialog).getByLabelText('Value'), 'value')
  await user.click(within(dialog).getByRole('button', { name: 'Save' }))
  await user.click(await within(section).findByRole('button', { name: 'Delete STAGING_TOKEN' }))
  await user.click(within(await screen.findByRole('dialog')).getByRole('button', { name: 'Delete' }))
  expect(sent).toEqual([
    ['secret/STAGING_TOKEN', { description: 'For staging', enforced: true }],
    ['secret/NEW', { description: '', enforced: false, value: 'value' }],
    'secret/STAGING_TOKEN',
  ])
})

test('a change of a server of a team keeps what the form does not show', async () => {
  const sent: unknown[] = []
  const { user } = renderApp({ url: '/settings/mcp-servers', user: OWNER, extra: routes(sent) })
  const section = await screen.findByRole('region', { name: 'MCP servers of the organisation and of teams' })
  expect(await within(section).findByText('Nothing is set at this level.')).toBeVisible()
  await user.selectOptions(
    within(section).getByLabelText('For'),
    await within(section).findByRole('option', { name: 'Team Core' }),
  )
  await user.click(await within(section).findByRole('button', { name: 'Change jira' }))
  const dialog = await screen.findByRole('dialog')
  await user.type(within(dialog).getByLabelText('What it is for'), ' and more')
  await user.click(within(dialog).getByRole('button', { name: 'Save' }))
  expect(sent).toEqual([
    [
      'mcp_server/jira?team_id=t1',
      {
        url: 'https://jira.example.org/mcp',
        auth: null,
        headers: { Authorization: '**********' },
        timeout: 60,
        enabled: false,
        description: 'For staging and more',
        enforced: false,
      },
    ],
  ])
})

test('a member sees each item, the level that gives it, and what overrides it', async () => {
  const { kind, name, description, allows } = SECRET
  const given: InheritedItem[] = [
    {
      kind,
      name,
      description,
      allows,
      sandbox_spec: null,
      level: 'team',
      team_name: 'Core',
      enforced: false,
      overridden_by: 'user',
    },
    {
      kind,
      name: 'B',
      description,
      allows,
      sandbox_spec: null,
      level: 'organisation',
      team_name: null,
      enforced: true,
      overridden_by: null,
    },
  ]
  renderApp({
    url: '/settings/secrets',
    user: { ...fakeUser(), role: 'member' },
    extra: routes([], given),
  })
  const section = await screen.findByRole('region', { name: 'From your organisation and teams' })
  expect(within(section).getByText('Team Core')).toBeVisible()
  expect(within(section).getByText('What you have set for this name applies instead.')).toBeVisible()
  expect(within(section).getByText('You cannot add a secret with this name.')).toBeVisible()
  expect(screen.queryByRole('button', { name: 'Add a secret for them' })).toBeNull()
})

test('an owner denies a host for everyone', async () => {
  const sent: unknown[] = []
  const { user } = renderApp({
    url: '/settings/network',
    user: OWNER,
    extra: [
      http.get('*/api/v1/settings/network', () =>
        problem(503, { code: 'database_unavailable', detail: 'Later.' }),
      ),
      ...routes(sent),
    ],
  })
  await user.click(await screen.findByRole('button', { name: 'Add a rule for them' }))
  const dialog = await screen.findByRole('dialog')
  await user.type(within(dialog).getByLabelText('Host'), '*.example.org')
  await user.click(within(dialog).getByRole('button', { name: 'Save' }))
  expect(sent).toEqual([['egress_rule/*.example.org', { allows: false, description: null, enforced: true }]])
})

test('an owner gives an image to everyone as the default', async () => {
  const sent: unknown[] = []
  const { user } = renderApp({ url: '/settings/sandbox-images', user: OWNER, extra: routes(sent) })
  await user.click(await screen.findByRole('button', { name: 'Add an image for them' }))
  const dialog = await screen.findByRole('dialog')
  await user.type(within(dialog).getByLabelText('Name'), 'Python')
  await user.type(within(dialog).getByLabelText('Image'), 'python:3.12-bookworm')
  await user.click(within(dialog).getByLabelText('New sandboxes of the members start from it'))
  await user.click(within(dialog).getByLabelText('Enforce: lower levels cannot change it'))
  expect(within(dialog).getByText('Members cannot choose another image.')).toBeVisible()
  await user.click(within(dialog).getByRole('button', { name: 'Save' }))
  expect(sent).toEqual([
    [
      'sandbox_spec/Python',
      {
        image: 'python:3.12-bookworm',
        runtime_plugins: null,
        description: null,
        is_default: true,
        enforced: true,
      },
    ],
  ])
})
