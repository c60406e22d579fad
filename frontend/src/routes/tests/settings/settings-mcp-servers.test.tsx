import { screen, waitFor, within } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { expect, test } from 'vitest'
import type { McpTestReport } from '@/api/agents/mcp-servers'
import { fakeMcpServer } from '@/test/agent-factories'
import { problem } from '@/test/handlers'
import { openServers } from '@/test/open-mcp-servers'
import { renderApp } from '@/test/render-app'
import { server } from '@/test/server'

const answering = (report: Partial<McpTestReport>) => () =>
  HttpResponse.json({ ok: true, tools: [], error: null, error_kind: null, fix: null, ...report })

test('a server is added with its headers', async () => {
  const { user, sent } = openServers({})
  expect(await screen.findByText('No MCP servers')).toBeVisible()
  await user.click(screen.getByRole('button', { name: 'Add a server' }))
  await user.type(await screen.findByLabelText('Name'), 'tracker')
  await user.type(screen.getByLabelText('URL'), 'https://mcp.example.org/mcp')
  await user.click(screen.getByRole('button', { name: 'Add a header' }))
  await user.type(screen.getByLabelText('Name of header 1'), 'Authorization')
  await user.type(screen.getByLabelText('Value of header 1'), 'Bearer t')
  await user.click(screen.getByRole('button', { name: 'Save' }))
  await waitFor(() => expect(screen.queryByRole('dialog')).not.toBeInTheDocument())
  expect(sent).toEqual([
    [
      'POST',
      'tracker',
      { url: 'https://mcp.example.org/mcp', auth: null, headers: { Authorization: 'Bearer t' } },
    ],
  ])
  expect(await screen.findByText('https://mcp.example.org/mcp')).toBeVisible()
})

test('editing keeps the stored headers unless a new value is typed', async () => {
  const headers = { Authorization: '**********', 'X-Team': '**********' }
  const { user, sent } = openServers({ tracker: fakeMcpServer({ headers }) })
  await user.click(await screen.findByRole('button', { name: 'Actions for tracker' }))
  await user.click(await screen.findByRole('menuitem', { name: 'Edit' }))
  await user.type(await screen.findByLabelText('Value of header 2'), 'harbour')
  await user.click(screen.getByRole('button', { name: 'Save' }))
  await waitFor(() =>
    expect(sent).toEqual([
      [
        'PATCH',
        'tracker',
        {
          url: 'https://mcp.example.org/mcp',
          auth: null,
          headers: { Authorization: '**********', 'X-Team': 'harbour' },
        },
      ],
    ]),
  )
})

test('fields are checked before anything is sent', async () => {
  const { user, sent } = openServers({})
  await user.click(await screen.findByRole('button', { name: 'Add a server' }))
  await user.type(await screen.findByLabelText('Name'), 'a b')
  await user.type(screen.getByLabelText('URL'), 'localhost')
  await user.click(screen.getByRole('button', { name: 'Save' }))
  expect(await screen.findByText(/dashes and underscores only/)).toBeVisible()
  expect(screen.getByText(/begins with http/)).toBeVisible()
  expect(sent).toEqual([])
})

test('a refused server keeps the form open and shows cause and fix', async () => {
  const { user } = openServers({ tracker: fakeMcpServer() })
  server.use(
    http.patch('*/api/v1/settings/mcp/tracker', () =>
      problem(409, {
        code: 'mcp_headers_needed',
        detail: 'Not sent to a new address.',
        fix: 'Enter them again.',
      }),
    ),
  )
  await user.click(await screen.findByRole('button', { name: 'Actions for tracker' }))
  await user.click(await screen.findByRole('menuitem', { name: 'Edit' }))
  await user.click(await screen.findByRole('button', { name: 'Save' }))
  const alert = await screen.findByRole('alert')
  expect(alert).toHaveTextContent('Not sent to a new address.')
  expect(alert).toHaveTextContent('Enter them again.')
})

test('a server that is tested shows its tools', async () => {
  const tools = [{ name: 'search', title: null, description: 'Finds issues.' }]
  const { user } = openServers({ tracker: fakeMcpServer() }, answering({ tools }))
  await user.click(await screen.findByRole('button', { name: 'Test tracker' }))
  const result = await screen.findByText('Connected, 1 tool')
  expect(result).toBeVisible()
  expect(screen.getByText('search')).toBeVisible()
  expect(screen.getByText('Finds issues.')).toBeVisible()
})

test('a server that does not answer says why', async () => {
  const failed = { ok: false, error: 'It refuses the sign-in (HTTP 401).', fix: 'Check its headers.' }
  const { user } = openServers({ tracker: fakeMcpServer() }, answering(failed))
  await user.click(await screen.findByRole('button', { name: 'Test tracker' }))
  const alert = await screen.findByRole('alert')
  expect(alert).toHaveTextContent('HTTP 401')
  expect(alert).toHaveTextContent('Check its headers.')
})

test('a server is switched off, and deleted after a question', async () => {
  const { user, sent } = openServers({ tracker: fakeMcpServer() })
  await user.click(await screen.findByRole('button', { name: 'Actions for tracker' }))
  await user.click(await screen.findByRole('menuitem', { name: 'Switch off' }))
  const list = await screen.findByRole('region', { name: 'MCP servers' })
  expect(await within(list).findByText('Off')).toBeVisible()
  expect(sent).toEqual([['PATCH', 'tracker', { enabled: false }]])
  await user.click(screen.getByRole('button', { name: 'Actions for tracker' }))
  await user.click(await screen.findByRole('menuitem', { name: 'Delete' }))
  await user.click(await screen.findByRole('button', { name: 'Delete server' }))
  expect(await screen.findByText('No MCP servers')).toBeVisible()
})

const OAUTH = { auth: { strategy: 'oauth2' } } as const

test('a server that wants a sign-in is connected first; a failure to begin says why', async () => {
  const { user, sent } = openServers({})
  server.use(
    http.post('*/api/v1/settings/mcp/tracker/sign-in', () =>
      problem(502, { code: 'mcp_sign_in_failed', detail: 'It lets no clients register.' }),
    ),
  )
  await user.click(await screen.findByRole('button', { name: 'Add a server' }))
  await user.type(await screen.findByLabelText('Name'), 'tracker')
  await user.type(screen.getByLabelText('URL'), 'https://mcp.example.org/mcp')
  await user.click(screen.getByLabelText('Sign in with OAuth'))
  await user.click(screen.getByRole('button', { name: 'Save' }))
  await waitFor(() => expect(screen.queryByRole('dialog')).not.toBeInTheDocument())
  expect(sent).toEqual([['POST', 'tracker', { url: 'https://mcp.example.org/mcp', headers: {}, ...OAUTH }]])
  await user.click(await screen.findByRole('button', { name: 'Connect tracker' }))
  expect(await screen.findByRole('alert')).toHaveTextContent('It lets no clients register.')
  expect(screen.queryByRole('button', { name: 'Test tracker' })).not.toBeInTheDocument()
})

test('how a sign-in stands is shown, and it can be ended', async () => {
  const forgotten: unknown[] = []
  const { user } = openServers({
    notes: fakeMcpServer({ ...OAUTH, sign_in: 'expired' }),
    tracker: fakeMcpServer({ ...OAUTH, sign_in: 'connected' }),
    files: fakeMcpServer({ ...OAUTH, sign_in: 'more_wanted', wanted_scope: 'files:write' }),
  })
  server.use(
    http.delete('*/api/v1/settings/mcp/:name/sign-in', ({ params }) => {
      forgotten.push(params.name)
      return new HttpResponse(null, { status: 204 })
    }),
  )
  expect(await screen.findByText('Connect again')).toBeVisible()
  expect(screen.getByRole('button', { name: 'Connect notes' })).toBeVisible()
  expect(screen.getByText('Connected')).toBeVisible()
  expect(screen.getByText('Wants more permission')).toBeVisible()
  expect(screen.getByText(/Connect again to ask for: files:write/)).toBeVisible()
  expect(screen.getByRole('button', { name: 'Connect files' })).toBeVisible()
  await user.click(screen.getByRole('button', { name: 'Actions for tracker' }))
  await user.click(await screen.findByRole('menuitem', { name: 'Disconnect' }))
  await waitFor(() => expect(forgotten).toEqual(['tracker']))
})

test('what the browser comes back with is handed in once', async () => {
  const handed: unknown[] = []
  const finish = http.post('*/api/v1/mcp-sign-ins', async ({ request }) => {
    handed.push(await request.json())
    return HttpResponse.json({ name: 'tracker' })
  })
  const servers = http.get('*/api/v1/settings/mcp', () => HttpResponse.json({ mcp_config: {} }))
  const { router } = renderApp({
    url: '/settings/mcp-servers/callback?state=s1&code=c1&iss=https%3A%2F%2Fid.example.org',
    extra: [finish, servers],
  })
  expect(await screen.findByText('No MCP servers')).toBeVisible()
  expect(handed).toEqual([{ state: 's1', code: 'c1', iss: 'https://id.example.org' }])
  expect(router.state.location.pathname + router.state.location.search).toBe('/settings/mcp-servers')
})

test('a sign-in that was refused says so', async () => {
  const finish = http.post('*/api/v1/mcp-sign-ins', () =>
    problem(400, { code: 'mcp_sign_in_refused', detail: 'The sign-in was refused (access_denied).' }),
  )
  renderApp({ url: '/settings/mcp-servers/callback?state=s1&error=access_denied', extra: [finish] })
  expect(await screen.findByRole('alert')).toHaveTextContent('access_denied')
  expect(screen.getByRole('link', { name: 'Back to the MCP servers' })).toBeVisible()
})
