import { screen, waitFor, within } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { expect, it } from 'vitest'
import { fakeStartTask } from '@/test/factories'
import { openConversation, timeline } from '@/test/open-conversation'
import { userMessage } from '@/test/sample-log'

const common = { id: 'x', timestamp: '2026-01-02T03:04:05', source: 'environment' }

it('is forked at one of its events, and the fork opens', async () => {
  const asked: unknown[] = []
  const { user, router } = openConversation({
    events: [userMessage('m', 'hi'), userMessage('n', 'there')],
    extra: [
      http.post('*/api/v1/app-conversations/:id/fork', async ({ request }) => {
        asked.push(await request.json())
        return HttpResponse.json(fakeStartTask({ id: 'c'.repeat(32) }), { status: 201 })
      }),
    ],
  })
  const log = within(await timeline())
  const [menu] = await log.findAllByRole('button', { name: 'Actions for this event' })
  await user.click(menu!)
  await user.click(await screen.findByRole('menuitem', { name: 'Fork from here' }))
  const dialog = within(await screen.findByRole('dialog', { name: 'Fork this conversation' }))
  expect(dialog.getByText(/The files are copied as they are now/)).toBeVisible()
  await user.clear(dialog.getByLabelText('Title'))
  await user.type(dialog.getByLabelText('Title'), 'Another way')
  await user.click(dialog.getByRole('button', { name: 'Fork' }))

  await waitFor(() => expect(router.state.location.pathname).toBe(`/conversations/${'c'.repeat(32)}`))
  expect(asked).toEqual([{ title: 'Another way', from_event_id: 'm' }])
})

it('says in the timeline what it was copied from', async () => {
  const value = {
    forked: { conversation_id: '0a000000-0000-4000-8000-000000000001', as_of: '2026-01-02T14:05:00Z' },
  }
  openConversation({
    events: [
      userMessage('m', 'hi'),
      { ...common, kind: 'ConversationStateUpdateEvent', key: 'agent_state', value },
    ],
  })
  const log = within(await timeline())
  expect(await log.findByText(/^Copied from another conversation, with its files of .*2026/)).toBeVisible()
  expect(log.getByRole('link', { name: 'Open the original' })).toHaveAttribute(
    'href',
    '/conversations/0a000000000040008000000000000001',
  )
})
