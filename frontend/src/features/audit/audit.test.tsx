import { screen, waitFor, within } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { expect, test, vi } from 'vitest'
import type { AuditEntry } from '@/api/people/audit'
import type { AuditStream } from '@/api/people/audit-stream'
import { fakeUser } from '@/test/factories'
import { i18n } from '@/i18n/i18n'
import { renderApp } from '@/test/render-app'
import { AUDIT_ACTIONS } from './audit-actions'

const ADMIN = { ...fakeUser(), role: 'admin' as const }

function entry(id: number, change: Partial<AuditEntry> = {}): AuditEntry {
  return {
    id,
    happened_at: '2026-01-02T10:00:00Z',
    actor_id: ADMIN.id,
    actor_name: 'Ada',
    organisation_id: null,
    means: 'session',
    credential_id: null,
    address: '192.0.2.1',
    action: 'key.created',
    target_kind: 'key',
    target_id: 'k1',
    outcome: 'success',
    details: { name: 'ci', scopes: ['read'] },
    previous_hash: '0'.repeat(64),
    hash: 'f'.repeat(64),
    ...change,
  }
}

function log(answer: (query: URLSearchParams) => { items: AuditEntry[]; next_page_id: string | null }) {
  const asked: string[] = []
  const extra = [
    http.get('*/api/v1/audit-log/stream', () => HttpResponse.json({ stream: null })),
    http.get('*/api/v1/people', () =>
      HttpResponse.json([
        { ...ADMIN, created_at: '2026-01-01T10:00:00Z', signed_in_at: null, disabled_at: null },
      ]),
    ),
    http.get('*/api/v1/audit-log', ({ request }) => {
      const query = new URL(request.url).searchParams
      asked.push(query.toString())
      return HttpResponse.json(answer(query))
    }),
  ]
  return { extra, asked }
}

test('an admin sees who did what, with the details, and goes on to older entries', async () => {
  const refused = entry(1, {
    action: 'sign_in.refused',
    outcome: 'refused',
    actor_id: null,
    actor_name: null,
    means: 'link',
    target_kind: null,
    target_id: null,
    details: { code: 'sign_in_link_used' },
  })
  const { extra } = log((query) =>
    query.get('page_id')
      ? { items: [refused], next_page_id: null }
      : { items: [entry(2)], next_page_id: 'older' },
  )
  const { user } = renderApp({ url: '/settings/audit', user: ADMIN, extra })

  const table = await screen.findByRole('table')
  const [, first] = within(table).getAllByRole('row')
  expect(first).toHaveTextContent('API key created')
  expect(first).toHaveTextContent('API key: ci')
  expect(first).toHaveTextContent('Browser · 192.0.2.1')
  await user.click(within(table).getByText('Details'))
  expect(within(table).getByText('["read"]')).toBeVisible()

  await user.click(screen.getByRole('button', { name: 'Show older entries' }))
  const row = (await within(table).findByText('Sign-in refused')).closest('tr')!
  expect(row).toHaveTextContent('Refused')
  expect(row).toHaveTextContent('Unknown')
  expect(screen.queryByRole('button', { name: 'Show older entries' })).toBeNull()
})

test('the filters are sent to the server, and nothing found is said', async () => {
  const { extra, asked } = log(() => ({ items: [], next_page_id: null }))
  const { user } = renderApp({ url: '/settings/audit', user: ADMIN, extra })

  expect(await screen.findByText('No entries')).toBeVisible()
  await user.selectOptions(screen.getByLabelText('Action'), 'Pushed to a repository')
  await user.selectOptions(screen.getByLabelText('Outcome'), 'Refused')
  await user.selectOptions(screen.getByLabelText('Person'), ADMIN.name)
  await user.type(screen.getByLabelText('From'), '2026-01-31')
  await user.type(screen.getByLabelText('Until'), '2026-01-31')
  await waitFor(() => {
    const query = new URLSearchParams(asked.at(-1))
    expect(query.get('action')).toBe('git.pushed')
    expect(query.get('outcome')).toBe('refused')
    expect(query.get('actor_id')).toBe(ADMIN.id)
    expect(query.get('since')).toBe(new Date(2026, 0, 31).toISOString())
    expect(query.get('until')).toBe(new Date(2026, 1, 1).toISOString())
  })
  expect(screen.getByLabelText('Until')).toHaveValue('2026-01-31')
})

test('a failure is shown and tried again, and the log is saved as a file', async () => {
  const { extra } = log(() => ({ items: [entry(1)], next_page_id: null }))
  let isDown = true
  const saved = vi.spyOn(URL, 'createObjectURL').mockReturnValue('blob:log')
  const { user } = renderApp({
    url: '/settings/audit',
    user: ADMIN,
    extra: [
      http.get('*/api/v1/audit-log', () =>
        isDown ? HttpResponse.json({ code: 'x', detail: 'It is broken.' }, { status: 400 }) : undefined,
      ),
      http.get('*/api/v1/audit-log/export', () => HttpResponse.text('id\n')),
      ...extra,
    ],
  })

  expect(await screen.findByText('It is broken.')).toBeVisible()
  isDown = false
  await user.click(screen.getByRole('button', { name: 'Try again' }))
  expect(await screen.findByRole('table')).toBeVisible()
  await user.click(screen.getByRole('button', { name: 'Export as CSV' }))
  await waitFor(() => expect(saved).toHaveBeenCalledOnce())
})

test('a member is told who can see the log', async () => {
  renderApp({ url: '/settings/audit', user: { ...ADMIN, role: 'member' } })
  expect(await screen.findByText('Only the owner and admins can see the audit log.')).toBeVisible()
  expect(screen.queryByRole('table')).toBeNull()
})

test('each action, means and target has a text', () => {
  const keys = [
    ...AUDIT_ACTIONS.map((action) => `action_${action.replace('.', '_')}`),
    ...Object.keys(MEANS).map((means) => `means_${means}`),
    ...Object.keys(TARGETS).map((target) => `target_${target}`),
  ]
  expect(keys.filter((key) => !i18n.exists(`audit.${key}`))).toEqual([])
})

// These do not compile if the server has a value that is missing here.
const MEANS: Record<AuditEntry['means'], true> = {
  session: true,
  key: true,
  link: true,
  password: true,
  provider: true,
  device: true,
  sandbox: true,
  command_line: true,
  server: true,
}
const TARGETS: Record<NonNullable<AuditEntry['target_kind']>, true> = {
  user: true,
  session: true,
  key: true,
  device: true,
  identity: true,
  team: true,
  secret: true,
  git_host: true,
  signing_key: true,
  mcp_server: true,
  marketplace: true,
  skill: true,
  network: true,
  sandbox_spec: true,
  profile: true,
  confirmation: true,
  setting: true,
  spending_limit: true,
  trust_grant: true,
  conversation: true,
  repository: true,
  callback: true,
  trigger: true,
  job: true,
  audit_log: true,
  installation: true,
  organisation: true,
}

test('an admin sends the log to a webhook, copies its secret and tests it', async () => {
  let stream: AuditStream | null = null
  const tested: string[] = []
  const { extra } = log(() => ({ items: [], next_page_id: null }))
  const { user } = renderApp({
    url: '/settings/audit',
    user: ADMIN,
    extra: [
      http.get('*/api/v1/audit-log/stream', () => HttpResponse.json({ stream })),
      http.put('*/api/v1/audit-log/stream', async ({ request }) => {
        const wanted = (await request.json()) as { kind: 'webhook'; address: string }
        stream = {
          kind: wanted.kind,
          address: wanted.address,
          sent_up_to: 4,
          waiting: 2,
          sent_at: null,
          failing_since: '2026-01-02T10:00:00Z',
          error: 'The receiver answered 503.',
        }
        return HttpResponse.json({ ...stream, secret: 'whsec_once' })
      }),
      http.post('*/api/v1/audit-log/stream/test', () => {
        tested.push('test')
        return new HttpResponse(null, { status: 204 })
      }),
      ...extra,
    ],
  })
  await user.selectOptions(await screen.findByLabelText('How'), 'Webhook')
  await user.type(screen.getByLabelText('Address'), 'https://siem.example.com/x')
  await user.click(screen.getByRole('button', { name: 'Send' }))
  expect(await screen.findByDisplayValue('whsec_once')).toBeVisible()
  await user.keyboard('{Escape}')
  expect(await screen.findByText('The receiver answered 503.')).toBeVisible()
  expect(screen.getByText(/2 entries wait/)).toBeVisible()
  await user.click(screen.getByRole('button', { name: 'Send a test message' }))
  await waitFor(() => expect(tested).toEqual(['test']))
})
