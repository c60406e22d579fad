import { screen, waitFor, within } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { afterEach, expect, test, vi } from 'vitest'
import type { AppConversation } from '@/api/types'
import { fakeConversation } from '@/test/factories'
import { problem } from '@/test/handlers'
import { renderApp } from '@/test/render-app'
import { server } from '@/test/server'
import { userStreamServer } from '@/test/user-stream-server'

const list = () => within(screen.getByRole('region', { name: 'Conversations' }))
const titles = () =>
  list()
    .getAllByRole('link')
    .map((link) => link.querySelector('.text-sm')?.textContent)

/** Opens the home page with its stream. `asked` counts the requests for the list. */
async function opened(conversations: AppConversation[], needing = conversations, hasMore = false) {
  const stream = userStreamServer(() => needing)
  const asked = { count: 0 }
  const app = renderApp({
    userStream: stream,
    extra: [
      http.get('*/api/v1/app-conversations/search', () => {
        asked.count += 1
        return HttpResponse.json({ items: conversations, next_page_id: hasMore ? 'more' : null })
      }),
    ],
  })
  await waitFor(() => expect(stream.connections()).toBe(1))
  await screen.findByRole('region', { name: 'Conversations' })
  await list().findByText(conversations[0]!.title!)
  return { ...app, stream, asked }
}

afterEach(() => vi.unstubAllGlobals())

test('new, changed and removed conversations appear without another request for the list', async () => {
  const known = fakeConversation({ title: 'Known', created_at: '2026-11-20T10:00:00Z' })
  const { stream, asked } = await opened([known])
  const before = asked.count

  stream.send({
    type: 'conversation',
    conversation: fakeConversation({ title: 'Newer', created_at: '2026-11-21T10:00:00Z' }),
  })
  await waitFor(() => expect(titles()).toEqual(['Newer', 'Known']))
  stream.send({
    type: 'conversation',
    conversation: fakeConversation({ title: 'Shared', created_at: '2026-11-19T10:00:00Z' }),
  })
  await waitFor(() => expect(titles()).toEqual(['Newer', 'Known', 'Shared']))
  stream.send({ type: 'conversation', conversation: { ...known, title: 'Renamed' } })
  await waitFor(() => expect(titles()).toEqual(['Newer', 'Renamed', 'Shared']))
  stream.send({ type: 'removed', conversation_id: known.id })
  await waitFor(() => expect(titles()).toEqual(['Newer', 'Shared']))
  expect(asked.count).toBe(before)
})

test('after a lost connection the list is loaded again', async () => {
  const { stream, asked } = await opened([fakeConversation()])
  const before = asked.count
  stream.drop(1013)
  await waitFor(() => expect(asked.count).toBeGreaterThan(before))
})

test('a sign-out in another tab leads to the sign-in page', async () => {
  const { stream } = await opened([fakeConversation({ title: 'Private' })])
  server.use(
    http.get('*/api/v1/users/me', () => problem(401, { code: 'not_authenticated', detail: 'Sign in.' })),
  )
  stream.drop(4001)
  expect(await screen.findByRole('heading', { name: 'Sign in' })).toBeVisible()
  expect(screen.queryByText('Private')).toBeNull()
})

test('what waits for the user is in the sidebar and the title, also where the list does not reach', async () => {
  const old = fakeConversation({ title: 'Old', needs_you: 'approval' })
  const { stream } = await opened([fakeConversation({ title: 'Recent' })], [old], true)
  const waiting = within(await screen.findByRole('list', { name: 'Needs you' }))
  expect(waiting.getByRole('link', { name: /Old/ })).toHaveTextContent('Needs you')
  expect(document.title).toMatch(/^\(1\) /)

  stream.send({ type: 'conversation', conversation: { ...old, needs_you: null } })
  await waitFor(() => expect(screen.queryByRole('list', { name: 'Needs you' })).toBeNull())
  expect(document.title).not.toMatch(/^\(/)
  stream.send({ type: 'conversation', conversation: { ...old, needs_you: 'answer', access: 'view' } })
  stream.send({
    type: 'conversation',
    conversation: fakeConversation({ title: 'Later', created_at: '2027-01-01T00:00:00Z' }),
  })
  await list().findByText('Later')
  expect(document.title, 'a viewer cannot answer').not.toMatch(/^\(/)
})

test('a notification is shown once the user has turned them on, and is never asked for unasked', async () => {
  const shown: string[] = []
  const asked = vi.fn()
  class FakeNotification {
    static permission = 'default'
    static requestPermission = () => {
      asked()
      FakeNotification.permission = 'granted'
      return Promise.resolve('granted')
    }
    constructor(title: string, options: { body: string }) {
      shown.push(`${title}: ${options.body}`)
    }
  }
  vi.stubGlobal('Notification', FakeNotification)
  const conversation = fakeConversation({ title: 'Deploy' })
  const { stream, user, router } = await opened([conversation])
  stream.send({ type: 'conversation', conversation: { ...conversation, needs_you: 'answer' } })
  await list().findByText('Needs you')
  expect([asked.mock.calls.length, shown]).toEqual([0, []])

  await router.navigate('/settings/appearance')
  await user.click(await screen.findByRole('button', { name: 'Turn on' }))
  expect(await screen.findByRole('button', { name: 'Turn off' })).toBeVisible()
  stream.send(
    { type: 'conversation', conversation },
    { type: 'conversation', conversation: { ...conversation, needs_you: 'approval' } },
  )
  await waitFor(() => expect(shown).toEqual(['Deploy: The agent waits for your approval.']))
  await user.click(screen.getByRole('button', { name: 'Turn off' }))
  expect(await screen.findByRole('button', { name: 'Turn on' })).toBeVisible()
})
