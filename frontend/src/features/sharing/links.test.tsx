import { screen, within } from '@testing-library/react'
import { http, HttpResponse, ws } from 'msw'
import { expect, test } from 'vitest'
import type { LinkInfo } from '@/api/conversations/links'
import { fakeConversation } from '@/test/factories'
import { problem } from '@/test/handlers'
import { renderApp } from '@/test/render-app'

const LINK: LinkInfo = {
  id: 'l1',
  name: 'Review',
  created_at: '2026-01-01T10:00:00Z',
  expires_at: '2026-01-08T10:00:00Z',
  last_used_at: null,
  is_active: true,
}
const FINDING = {
  id: 'github_token-4-1',
  kind: 'github_token',
  name: null,
  excerpt: 'ghp_…',
  count: 3,
  places: [{ seq: 4, path: 'llm_message.content.0.text' }],
}

test('an owner confirms the secrets that were found, copies the link and removes it', async () => {
  const conversation = fakeConversation()
  const root = `*/api/v1/app-conversations/${conversation.id}`
  const asked: unknown[] = []
  let links: LinkInfo[] = []
  const extra = [
    http.get(`${root}/sharing`, () => HttpResponse.json({ everyone: null, people: [], teams: [] })),
    http.get(`${root}/links`, () => HttpResponse.json(links)),
    http.post(`${root}/links`, async ({ request }) => {
      const body = (await request.json()) as { confirmed_findings: string[] }
      asked.push(body)
      if (body.confirmed_findings.length === 0)
        return problem(409, { code: 'secrets_found', detail: 'Secrets.', findings: [FINDING] })
      links = [LINK]
      return HttpResponse.json({ ...LINK, url: 'https://x.test/linked#token=t' }, { status: 201 })
    }),
    http.delete(`${root}/links/l1`, () => {
      links = []
      return new HttpResponse(null, { status: 204 })
    }),
  ]
  const { user } = renderApp({
    url: `/conversations/${conversation.id}`,
    conversations: [conversation],
    extra,
  })

  await user.click(await screen.findByRole('button', { name: 'Share' }))
  const dialog = within(await screen.findByRole('dialog', { name: 'Share this conversation' }))
  await user.type(await dialog.findByLabelText('What the link is for'), 'Review')
  await user.click(dialog.getByRole('button', { name: 'Make a link' }))
  const confirm = await dialog.findByRole('button', { name: 'Make the link and show them' })
  expect(confirm).toBeDisabled()
  expect(dialog.getByText('Event 4, llm_message.content.0.text, and 2 more')).toBeVisible()
  await user.click(dialog.getByRole('checkbox', { name: /GitHub token/ }))
  await user.click(confirm)
  expect(await dialog.findByLabelText('Link')).toHaveValue('https://x.test/linked#token=t')
  expect(asked.at(-1)).toEqual({ name: 'Review', hours: 168, confirmed_findings: [FINDING.id] })
  await user.click(await dialog.findByRole('button', { name: 'Remove the link Review' }))
  expect(await dialog.findByRole('button', { name: 'Make a link' })).toBeVisible()
  expect(links).toEqual([])
})

const stream = ws.link('*/api/v1/linked-conversation/stream')

test('a reader without an account sees what was said, until the link ends', async () => {
  const event = {
    id: 'e1',
    kind: 'MessageEvent',
    source: 'user',
    timestamp: '2026-01-01T10:00:00',
    llm_message: { role: 'user', content: [{ type: 'text', text: 'Build the engine' }] },
  }
  const shown = { title: 'The engine', created_at: LINK.created_at, expires_at: LINK.expires_at }
  const extra = [
    http.get('*/api/v1/linked-conversation', ({ request }) =>
      request.headers.get('X-Link-Token') === 'secret'
        ? HttpResponse.json(shown)
        : problem(404, { code: 'link_ended', detail: 'Ended.' }),
    ),
    stream.addEventListener('connection', ({ client }) => {
      client.send(JSON.stringify({ type: 'sync', from_seq: 1, through_seq: 1 }))
      client.send(JSON.stringify({ type: 'durable', seq: 1, event }))
    }),
  ]
  const { router } = renderApp({ url: '/linked#token=secret', user: null, extra })
  expect(await screen.findByRole('heading', { name: 'The engine' })).toBeVisible()
  expect(await screen.findByRole('log', { name: 'Conversation' })).toBeVisible()
  expect(screen.queryByRole('textbox')).toBeNull()
  expect(router.state.location.pathname).toBe('/linked')
  stream.clients.forEach((client) => client.close(4004))
  expect(await screen.findByRole('heading', { name: 'This link has ended' })).toBeVisible()
})

test('an address without a token says that the link has ended', async () => {
  renderApp({ url: '/linked', user: null })
  expect(await screen.findByRole('heading', { name: 'This link has ended' })).toBeVisible()
})
