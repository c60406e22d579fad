import { screen, within } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { expect, test } from 'vitest'
import type { Sharing } from '@/api/conversations/sharing'
import { fakeConversation } from '@/test/factories'
import { renderApp } from '@/test/render-app'

test('an owner shares with a person, a team and everyone, and takes access away', async () => {
  const conversation = fakeConversation()
  const sharing: Sharing = { everyone: null, people: [], teams: [] }
  const root = `*/api/v1/app-conversations/${conversation.id}/sharing`
  const extra = [
    http.get(root, () => HttpResponse.json(sharing)),
    http.get('*/links', () => HttpResponse.json([])),
    http.put(root, async ({ request }) => {
      sharing.everyone = ((await request.json()) as Sharing).everyone
      return HttpResponse.json(sharing)
    }),
    http.get(`${root}/candidates`, () =>
      HttpResponse.json([
        { user_id: null, team_id: 't1', name: 'Graphics', is_service: false },
        { user_id: 'g1', team_id: null, name: 'Grace', is_service: true },
      ]),
    ),
    http.put(`${root}/people/g1`, async ({ request }) => {
      const { access } = (await request.json()) as Sharing['people'][number]
      sharing.people = [{ user_id: 'g1', name: 'Grace', access, created_at: '2026-01-01T10:00:00Z' }]
      return HttpResponse.json(sharing)
    }),
    http.put(`${root}/teams/t1`, async ({ request }) => {
      const { access } = (await request.json()) as Sharing['teams'][number]
      const created_at = '2026-01-01T10:00:00Z'
      sharing.teams = [{ team_id: 't1', name: 'Graphics', access, member_count: 3, created_at }]
      return HttpResponse.json(sharing)
    }),
    http.delete(`${root}/people/g1`, () => {
      sharing.people = []
      return HttpResponse.json(sharing)
    }),
  ]
  const url = `/conversations/${conversation.id}`
  const { user } = renderApp({ url, conversations: [conversation], extra })

  await user.click(await screen.findByRole('button', { name: 'Share' }))
  const dialog = within(await screen.findByRole('dialog', { name: 'Share this conversation' }))
  expect(dialog.getByText(/You pay/)).toBeVisible()
  await user.type(await dialog.findByLabelText('Add a person or a team'), 'gra')
  await user.click(await dialog.findByRole('button', { name: 'Add Grace' }))
  expect(await dialog.findByLabelText('Access of Grace')).toHaveValue('view')
  await user.selectOptions(dialog.getByLabelText('Access of Grace'), 'Can steer')
  await user.type(dialog.getByLabelText('Add a person or a team'), 'gra')
  await user.click(await dialog.findByRole('button', { name: 'Add Graphics' }))
  expect(await dialog.findByText('Team · 3 members')).toBeVisible()
  await user.selectOptions(dialog.getByLabelText('Access of Graphics'), 'Can steer')
  await user.selectOptions(dialog.getByLabelText('Everyone who is signed in'), 'Can view')
  await user.click(dialog.getByRole('button', { name: 'Remove Grace' }))
  expect(await dialog.findByLabelText('Everyone who is signed in')).toHaveValue('view')
  expect(sharing).toMatchObject({ everyone: 'view', people: [], teams: [{ access: 'steer' }] })
})

test('a person who may view reads without a box to write in and without the tools of the owner', async () => {
  const conversation = fakeConversation({ access: 'view', owner_name: 'Ada', is_shared: true })
  renderApp({ url: `/conversations/${conversation.id}`, conversations: [conversation] })
  expect(await screen.findByText('Ada shares this conversation with you to read.')).toBeVisible()
  expect(screen.queryByRole('textbox', { name: 'Message to the agent' })).toBeNull()
  expect(screen.queryByRole('button', { name: 'Share' })).toBeNull()
})

test('a person who may steer writes, and does not share further', async () => {
  const conversation = fakeConversation({ access: 'steer', owner_name: 'Ada', is_shared: true })
  renderApp({ url: `/conversations/${conversation.id}`, conversations: [conversation] })
  expect(await screen.findByRole('textbox', { name: 'Message to the agent' })).toBeVisible()
  expect(screen.queryByRole('button', { name: 'Share' })).toBeNull()
})
