import { screen, waitFor, within } from '@testing-library/react'
import { http, HttpResponse, ws } from 'msw'
import { expect, test } from 'vitest'
import { fakeConversation, fakeStartTask } from '@/test/factories'
import { renderApp } from '@/test/render-app'

const SHARED = [
  fakeConversation({ id: 'a', sandbox_id: 's', title: 'Mend the crane' }),
  fakeConversation({ id: 'b', sandbox_id: 's', title: 'Paint the crane' }),
]
const ALONE = fakeConversation({ id: 'c', sandbox_id: 'c', title: 'Count the ships' })

function archiving(archived: unknown[]) {
  return http.post('*/api/v1/sandboxes/:id/archive', ({ params }) => {
    archived.push(params.id)
    return HttpResponse.json({ success: true })
  })
}

function acceptStart(bodies: unknown[]) {
  return [
    http.post('*/api/v1/app-conversations', async ({ request }) => {
      bodies.push(await request.json())
      return HttpResponse.json(fakeStartTask({ id: 'new' }))
    }),
    ws.link('*/events/stream*').addEventListener('connection', () => {}),
  ]
}

test('the strategy is chosen, with what it costs told beside it', async () => {
  const sent: unknown[] = []
  const { user } = renderApp({
    url: '/settings/sandboxes',
    extra: [
      http.put('*/api/v1/settings/sandbox-grouping', async ({ request }) => {
        const body = (await request.json()) as Record<string, unknown>
        sent.push(body)
        return HttpResponse.json({ ...body, max_conversations_per_sandbox: 20 })
      }),
    ],
  })
  expect(await screen.findByRole('radio', { name: 'A sandbox for each conversation' })).toBeChecked()
  expect(screen.getByText(/One agent can read another one's files/)).toBeVisible()
  expect(screen.getByText(/20 conversations at most/)).toBeVisible()

  await user.click(screen.getByRole('radio', { name: 'Share the newest sandbox' }))

  await waitFor(() => expect(screen.getByRole('radio', { name: 'Share the newest sandbox' })).toBeChecked())
  expect(sent).toEqual([{ sandbox_grouping_strategy: 'GROUP_BY_NEWEST' }])
})

test('deleting one that shares its sandbox says that the sandbox stays', async () => {
  const { user } = renderApp({ url: '/conversations', conversations: [...SHARED, ALONE] })

  await user.click(await screen.findByRole('button', { name: 'More actions: Mend the crane' }))
  await user.click(await screen.findByRole('menuitem', { name: 'Delete' }))
  const shared = await screen.findByRole('dialog')
  expect(await within(shared).findByText(/The sandbox stays: another conversation works in it/)).toBeVisible()
  await user.click(within(shared).getByRole('button', { name: 'Cancel' }))

  await user.click(screen.getByRole('button', { name: 'More actions: Count the ships' }))
  await user.click(await screen.findByRole('menuitem', { name: 'Delete' }))
  expect(within(await screen.findByRole('dialog')).getByText(/and its sandbox will be gone/)).toBeVisible()
})

test('archiving a shared sandbox asks first, and names who goes along', async () => {
  const archived: unknown[] = []
  const { user } = renderApp({
    url: '/conversations',
    conversations: [...SHARED, ALONE],
    extra: [archiving(archived)],
  })

  await user.click(await screen.findByRole('button', { name: 'More actions: Mend the crane' }))
  await user.click(await screen.findByRole('menuitem', { name: 'Archive the sandbox' }))
  const dialog = await screen.findByRole('dialog')
  expect(within(dialog).getByText(/goes into the archive with it: Paint the crane/)).toBeVisible()
  expect(archived).toEqual([])
  await user.click(within(dialog).getByRole('button', { name: 'Archive both' }))
  await waitFor(() => expect(archived).toEqual(['s']))

  await user.click(screen.getByRole('button', { name: 'More actions: Count the ships' }))
  await user.click(await screen.findByRole('menuitem', { name: 'Archive the sandbox' }))
  await waitFor(() => expect(archived).toEqual(['s', 'c']))
})

test('a task begins in the sandbox of another conversation, on the same repository', async () => {
  const bodies: unknown[] = []
  const { user, router } = renderApp({
    url: '/conversations',
    conversations: [
      fakeConversation({
        id: 'a',
        sandbox_id: 's',
        title: 'Mend the crane',
        selected_repository: '/srv/app',
      }),
    ],
    extra: acceptStart(bodies),
  })

  await user.click(await screen.findByRole('button', { name: 'More actions: Mend the crane' }))
  await user.click(await screen.findByRole('menuitem', { name: 'New conversation in its sandbox' }))
  expect(await screen.findByText('In the sandbox of “Mend the crane”')).toBeVisible()
  expect(screen.getByLabelText('Repository')).toHaveValue('/srv/app')
  await user.type(screen.getByLabelText('Task'), 'Paint it')
  await user.click(screen.getByRole('button', { name: 'Start' }))

  await waitFor(() => expect(router.state.location.pathname).toBe('/conversations/new'))
  expect(bodies).toEqual([expect.objectContaining({ sandbox_id: 's', selected_repository: '/srv/app' })])
})

test('a user who does not want that keeps the text and gets a separate sandbox', async () => {
  const bodies: unknown[] = []
  const { user } = renderApp({
    url: '/?beside=a',
    conversations: SHARED,
    extra: acceptStart(bodies),
  })

  await user.type(await screen.findByLabelText('Task'), 'Paint it')
  await user.click(screen.getByRole('link', { name: 'Use a separate sandbox' }))
  expect(screen.queryByText(/In the sandbox of/)).toBeNull()
  expect(screen.getByLabelText('Task')).toHaveValue('Paint it')
  await user.click(screen.getByRole('button', { name: 'Start' }))

  await waitFor(() => expect(bodies).toHaveLength(1))
  expect(bodies[0]).not.toHaveProperty('sandbox_id')
})

test('the sandbox of a conversation that is gone is not begun in', async () => {
  renderApp({ url: '/?beside=gone', conversations: SHARED })

  expect(await screen.findByText(/whose sandbox was to be shared cannot be loaded/)).toBeVisible()
  expect(screen.queryByLabelText('Task')).toBeNull()
})

test('one that has all of its sandbox to itself is not offered', async () => {
  const alone = fakeConversation({
    id: 'c',
    sandbox_id: 'c',
    title: 'Count the ships',
    selected_repository: null,
  })
  const { user } = renderApp({ url: '/conversations', conversations: [alone] })

  await user.click(await screen.findByRole('button', { name: 'More actions: Count the ships' }))

  expect(await screen.findByRole('menuitem', { name: 'Delete' })).toBeVisible()
  expect(screen.queryByRole('menuitem', { name: 'New conversation in its sandbox' })).toBeNull()
})
