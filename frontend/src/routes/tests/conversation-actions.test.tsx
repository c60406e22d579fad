import { screen, waitFor, within } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { expect, test, vi } from 'vitest'
import { fakeConversation, fakeStartTask } from '@/test/factories'
import { renderApp } from '@/test/render-app'

const main = () => within(screen.getByRole('main'))

test('a conversation is renamed', async () => {
  const conversation = fakeConversation({ title: 'Old' })
  const { user } = renderApp({
    url: '/conversations',
    conversations: [conversation],
    extra: [
      http.patch(`*/api/v1/app-conversations/${conversation.id}`, async ({ request }) =>
        HttpResponse.json({ ...conversation, ...((await request.json()) as object) }),
      ),
    ],
  })
  await user.click(await screen.findByRole('button', { name: 'More actions: Old' }))
  await user.click(await screen.findByRole('menuitem', { name: 'Rename' }))
  await user.clear(await screen.findByLabelText('Title'))
  await user.type(screen.getByLabelText('Title'), 'New{Enter}')
  await waitFor(() => expect(main().getByText('New')).toBeVisible())
})

test('the sandbox of a conversation is archived, and the conversation says so', async () => {
  const conversation = fakeConversation({ title: 'Old', sandbox_status: 'PAUSED', execution_status: null })
  const conversations = [conversation]
  const { user } = renderApp({
    url: '/conversations',
    conversations,
    extra: [
      http.post(`*/api/v1/sandboxes/${conversation.id}/archive`, () => {
        conversations[0] = { ...conversation, sandbox_status: 'ARCHIVED' }
        return HttpResponse.json({ success: true })
      }),
    ],
  })
  await user.click(await screen.findByRole('button', { name: 'More actions: Old' }))
  await user.click(await screen.findByRole('menuitem', { name: 'Archive the sandbox' }))
  await waitFor(() => expect(main().getByText('Sandbox archived')).toBeInTheDocument())

  await user.click(screen.getByRole('button', { name: 'More actions: Old' }))
  expect(await screen.findByRole('menuitem', { name: 'Rename' })).toBeVisible()
  expect(screen.queryByRole('menuitem', { name: 'Archive the sandbox' })).not.toBeInTheDocument()
})

test('a new conversation begins from the files of another', async () => {
  const conversation = fakeConversation({ title: 'Old', llm_profile: 'sonnet' })
  const asked: unknown[] = []
  const { user, router } = renderApp({
    url: '/conversations',
    conversations: [conversation],
    extra: [
      http.post(`*/api/v1/sandboxes/${conversation.id}/snapshots`, () =>
        HttpResponse.json({ id: 'b'.repeat(32) }, { status: 201 }),
      ),
      http.post('*/api/v1/app-conversations', async ({ request }) => {
        asked.push(await request.json())
        return HttpResponse.json(fakeStartTask({ id: 'c'.repeat(32) }))
      }),
    ],
  })
  await user.click(await screen.findByRole('button', { name: 'More actions: Old' }))
  await user.click(await screen.findByRole('menuitem', { name: 'New conversation from its files' }))

  await waitFor(() => expect(router.state.location.pathname).toBe(`/conversations/${'c'.repeat(32)}`))
  expect(asked).toEqual([{ snapshot_id: 'b'.repeat(32), llm_profile: 'sonnet' }])
})

test('a conversation is deleted only after it was confirmed', async () => {
  const conversation = fakeConversation({ title: 'Doomed' })
  const conversations = [conversation]
  const { user } = renderApp({
    url: '/conversations',
    conversations,
    extra: [
      http.delete(`*/api/v1/app-conversations/${conversation.id}`, () => {
        conversations.length = 0
        return HttpResponse.json({ success: true })
      }),
    ],
  })
  await user.click(await screen.findByRole('button', { name: 'More actions: Doomed' }))
  await user.click(await screen.findByRole('menuitem', { name: 'Delete' }))
  expect(conversations).toHaveLength(1)
  await user.click(await screen.findByRole('button', { name: 'Delete conversation' }))
  expect(await screen.findByText('No conversations yet')).toBeVisible()
})

test('a conversation is saved as a file that is named after it', async () => {
  const saved: Blob[] = []
  const names: string[] = []
  URL.createObjectURL = (content) => `blob:${saved.push(content as Blob)}`
  URL.revokeObjectURL = () => {}
  vi.spyOn(HTMLAnchorElement.prototype, 'click').mockImplementation(function (this: HTMLAnchorElement) {
    names.push(this.download)
  })
  const conversation = fakeConversation({ title: 'Round invoices' })
  const { user } = renderApp({
    url: '/conversations',
    conversations: [conversation],
    extra: [
      http.get(`*/api/v1/app-conversations/${conversation.id}/download`, ({ request }) =>
        HttpResponse.text(`# as ${new URL(request.url).searchParams.get('format')}`),
      ),
      http.get(`*/api/v1/app-conversations/${conversation.id}/workspace`, () => HttpResponse.text('files')),
    ],
  })
  await user.click(await screen.findByRole('button', { name: 'More actions: Round invoices' }))
  await user.click(await screen.findByRole('menuitem', { name: 'Download as Markdown' }))
  await waitFor(() => expect(names).toEqual(['round-invoices.md']))
  expect(await saved[0]?.text()).toBe('# as markdown')

  await user.click(screen.getByRole('button', { name: 'More actions: Round invoices' }))
  await user.click(await screen.findByRole('menuitem', { name: 'Download the files (tar.gz)' }))
  await waitFor(() => expect(names.at(-1)).toBe('round-invoices.tar.gz'))
  expect(await saved[1]?.text()).toBe('files')

  await user.click(screen.getByRole('button', { name: 'More actions: Round invoices' }))
  await user.click(await screen.findByRole('menuitem', { name: 'Download as a trajectory (ATIF)' }))
  await waitFor(() => expect(names.at(-1)).toBe('round-invoices.atif.json'))
})

test('a model key is created, shown once, and taken away', async () => {
  const conversation = fakeConversation({ title: 'Old' })
  let expires: string | null = null
  const path = `*/api/v1/app-conversations/${conversation.id}/model-key`
  const { user } = renderApp({
    url: '/conversations',
    conversations: [conversation],
    extra: [
      http.get(path, () => HttpResponse.json({ expires_at: expires })),
      http.post(path, async ({ request }) => {
        expect(await request.json()).toEqual({ hours: 24 })
        expires = '2030-01-01T10:00:00Z'
        return HttpResponse.json({ key: 'k', expires_at: expires, shell: 'export KEY="k"' }, { status: 201 })
      }),
      http.delete(path, () => {
        expires = null
        return new HttpResponse(null, { status: 204 })
      }),
    ],
  })
  const open = async () => {
    await user.click(await screen.findByRole('button', { name: 'More actions: Old' }))
    await user.click(await screen.findByRole('menuitem', { name: 'Model key for programs' }))
  }
  await open()
  expect(await screen.findByText('There is no valid key.')).toBeVisible()
  await user.selectOptions(screen.getByLabelText('Valid for'), 'One day')
  await user.click(screen.getByRole('button', { name: 'Create key' }))
  expect(await screen.findByLabelText('Line for the shell')).toHaveValue('export KEY="k"')
  await user.click(screen.getByRole('button', { name: 'Done' }))
  await open()
  await user.click(await screen.findByRole('button', { name: 'Revoke the key' }))
  expect(await screen.findByText('There is no valid key.')).toBeVisible()
})
