import { screen, waitFor, within } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { http, HttpResponse } from 'msw'
import { problem } from '@/test/handlers'
import { openConversation, timeline } from '@/test/open-conversation'
import { userMessage } from '@/test/sample-log'

const common = { id: 'x', timestamp: '2026-01-02T03:04:05', source: 'environment' }

describe('a conversation whose host is lost', () => {
  const lost = {
    sandbox_status: 'MISSING',
    execution_status: null,
    sandbox_error: {
      code: 'sandbox_host_lost',
      cause: 'The sandbox host a has not answered since 12:03.',
      fix: 'Start the host again.',
      output: '',
    },
  } as const

  it.each(['sandbox_host_lost', 'sandbox_host_unknown'])(
    'offers with %s to continue elsewhere',
    async (code) => {
      const { user } = openConversation({
        conversation: { ...lost, sandbox_error: { ...lost.sandbox_error, code } },
        events: [userMessage('m', 'hi')],
        extra: [
          http.post('*/api/v1/sandboxes/:id/resume', () =>
            problem(409, { code: 'sandbox_host_lost', detail: 'There is no backup of this conversation.' }),
          ),
        ],
      })
      expect(await screen.findByText('Sandbox out of reach')).toBeVisible()
      expect(screen.getByText('The sandbox host a has not answered since 12:03.')).toBeVisible()
      await user.click(screen.getByRole('button', { name: 'Continue on another host' }))
      expect(await screen.findByText(/no backup of this conversation/)).toBeVisible()
      expect(screen.queryByRole('dialog')).not.toBeInTheDocument()
    },
  )

  it('goes on from an older backup once its user has said so, having read what is lost', async () => {
    const asked: string[] = []
    const { user } = openConversation({
      conversation: lost,
      events: [userMessage('m', 'hi')],
      extra: [
        http.post('*/api/v1/sandboxes/:id/resume', async ({ request }) => {
          const body = await request.text()
          asked.push(body)
          if (body) return HttpResponse.json({ success: true })
          const refusal = { code: 'backup_outdated', detail: 'The conversation went on.' }
          return problem(409, { ...refusal, backup_at: '2026-01-02T14:05:00+00:00', later_events: 3 })
        }),
      ],
    })
    await user.click(await screen.findByRole('button', { name: 'Continue on another host' }))
    const dialog = await screen.findByRole('dialog', { name: /^Continue from the backup of .*2026/ })
    expect(dialog).toHaveTextContent('3 later events stay in the log')
    await user.click(within(dialog).getByRole('button', { name: 'Wait for the host' }))
    expect(screen.queryByRole('dialog')).not.toBeInTheDocument()
    expect(asked).toEqual([''])
    expect(screen.getByText(/^The last backup is of .*2026/)).toBeVisible()
    await user.click(screen.getByRole('button', { name: 'Continue from the backup' }))
    const again = await screen.findByRole('dialog')
    await user.click(within(again).getByRole('button', { name: 'Continue from the backup' }))
    await waitFor(() => expect(asked).toEqual(['', '{"from_backup":true}']))
  })

  it('says in the timeline how old the files are that a conversation went on with', async () => {
    const value = { restored: { as_of: '2026-01-02T14:05:00Z', lost_events: 3 } }
    openConversation({
      events: [
        userMessage('m', 'hi'),
        { ...common, kind: 'ConversationStateUpdateEvent', key: 'agent_state', value },
      ],
    })
    const log = within(await timeline())
    expect(await log.findByText(/^The files are those of .*2026/)).toBeVisible()
    expect(log.getByText(/The changes to files by 3 later events are lost/)).toBeVisible()
  })
})
