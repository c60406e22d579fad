import { screen, waitFor, within } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { describe, expect, it } from 'vitest'
import { fakeStartTask } from '@/test/factories'
import { ID, openConversation, timeline } from '@/test/open-conversation'
import { server } from '@/test/server'

describe('the start', () => {
  const failed = fakeStartTask({
    id: ID,
    status: 'ERROR',
    error: {
      code: 'repository_clone_failed',
      stage: 'PREPARING_REPOSITORY',
      cause: 'Git could not clone the repository.',
      fix: 'Add a token. `slipway doctor` says where.',
      output: 'fatal: denied',
    },
  })
  failed.stages[2] = { ...failed.stages[2]!, state: 'failed', started_at: '2026-01-02T03:04:05Z' }

  it('lists the seven stages with the one under way', async () => {
    const running = fakeStartTask({ id: ID, status: 'WAITING_FOR_SANDBOX' })
    running.stages[1] = { ...running.stages[1]!, state: 'running', detail: 'Pulling the image' }
    openConversation({
      task: running,
      conversation: { start_status: 'WAITING_FOR_SANDBOX', sandbox_status: 'STARTING' },
    })
    const start = await screen.findByRole('region', { name: 'Start of the conversation' })
    expect(within(start).getAllByRole('listitem')).toHaveLength(7)
    expect(within(start).getByRole('listitem', { current: 'step' })).toHaveTextContent('Pulling the image')
    expect(screen.getByText('Starting', { selector: '[aria-live]' })).toBeVisible()
  })

  it('explains a failure and goes on when tried again', async () => {
    const retried = fakeStartTask({
      id: ID,
      status: 'PREPARING_REPOSITORY',
      updated_at: '2026-01-02T03:05:00Z',
    })
    const { user, stream } = openConversation({ task: failed, conversation: { start_status: 'ERROR' } })
    expect(await screen.findByText('Git could not clone the repository.')).toBeVisible()
    expect(screen.getByText(/Add a token\./)).toHaveTextContent('Add a token. slipway doctor says where.')
    expect(screen.getByText('slipway doctor', { selector: 'code' })).toBeVisible()
    expect(screen.getByRole('region', { name: 'Last output' })).toHaveTextContent('fatal: denied')
    expect(screen.getAllByText('fatal: denied')).toHaveLength(1)
    server.use(http.post('*/start-tasks/:id/retry', () => HttpResponse.json(retried)))
    await user.click(screen.getByRole('button', { name: 'Try again from here' }))
    await waitFor(() => expect(screen.queryByText(/Add a token\./)).not.toBeInTheDocument())
    stream.send({
      type: 'start_task',
      task: { ...retried, status: 'READY', updated_at: '2026-01-02T03:06:00Z' },
    })
    expect(await screen.findByText(/^Started in/)).toBeVisible()
  })

  it('shows the first message while the conversation comes up', async () => {
    const request = {
      initial_message: { role: 'user' as const, content: [{ type: 'text' as const, text: 'Fix it' }] },
    }
    openConversation({ task: { status: 'WORKING', request }, conversation: { start_status: 'WORKING' } })
    expect(await within(await timeline()).findByText('Fix it')).toBeVisible()
  })
})
