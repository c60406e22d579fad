import { screen, waitFor, within } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { describe, expect, it } from 'vitest'
import { problem } from '@/test/handlers'
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

  it('goes on from another branch', async () => {
    const request = {
      selected_repository: 'ada/engine',
      selected_branch: 'relese',
      selected_directory: 'web',
    }
    const sent: unknown[] = []
    const { user } = openConversation({
      task: { ...failed, request },
      conversation: { start_status: 'ERROR', ...request },
    })
    server.use(
      http.post('*/start-tasks/:id/retry', async ({ request }) => {
        sent.push(await request.json())
        return sent.length === 1
          ? problem(409, { code: 'sandbox_shared', detail: 'Other conversations work in the same sandbox.' })
          : HttpResponse.json(fakeStartTask({ id: ID, status: 'PREPARING_REPOSITORY' }))
      }),
    )
    const branch = await screen.findByRole('textbox', { name: 'Branch' })
    expect(branch).toHaveValue('relese')
    expect(screen.getByTitle('ada/engine')).toHaveTextContent(/^ada\/engine$/)
    expect(screen.getByTitle('Folder')).toHaveTextContent(/^web$/)
    await user.clear(branch)
    const repository = screen.getByRole('textbox', { name: 'Repository' })
    await user.clear(repository)
    await user.type(repository, 'ada/loom')
    await user.click(screen.getByRole('button', { name: 'Try again from here' }))
    expect(await screen.findByText('Other conversations work in the same sandbox.')).toBeVisible()
    await user.clear(repository)
    await user.type(repository, 'ada/engine')
    await user.type(branch, 'release')
    await user.clear(screen.getByRole('textbox', { name: 'Folder' }))
    await user.click(screen.getByRole('button', { name: 'Try again from here' }))
    await waitFor(() => expect(screen.queryByRole('textbox', { name: 'Branch' })).not.toBeInTheDocument())
    expect(sent).toEqual([
      { selected_repository: 'ada/loom', selected_branch: null },
      { selected_branch: 'release', selected_directory: null },
    ])
  })

  it.each([
    ['the files were there already', { stage: 'RUNNING_SETUP_SCRIPT' as const }, {}],
    ['they come from a snapshot', {}, { snapshot_id: 'a snapshot' }],
  ])('offers no other branch where %s', async (_, error, origin) => {
    const request = { selected_repository: 'ada/engine', ...origin }
    const task = { ...failed, error: { ...failed.error!, ...error }, request }
    openConversation({ task, conversation: { start_status: 'ERROR' } })
    expect(await screen.findByRole('button', { name: 'Try again from here' })).toBeVisible()
    expect(screen.queryByRole('textbox', { name: 'Branch' })).not.toBeInTheDocument()
  })

  it('shows the first message while the conversation comes up', async () => {
    const request = {
      initial_message: { role: 'user' as const, content: [{ type: 'text' as const, text: 'Fix it' }] },
    }
    openConversation({ task: { status: 'WORKING', request }, conversation: { start_status: 'WORKING' } })
    expect(await within(await timeline()).findByText('Fix it')).toBeVisible()
  })
})
