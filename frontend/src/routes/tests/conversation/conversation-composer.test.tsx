import { screen, waitFor } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { describe, expect, it } from 'vitest'
import { fakeStartTask } from '@/test/factories'
import { problem } from '@/test/handlers'
import { composer, ID, openConversation } from '@/test/open-conversation'
import { statusChange, userMessage } from '@/test/sample-log'
import { server } from '@/test/server'

describe('the composer', () => {
  it('sends while the agent runs, shows the message at once and only once', async () => {
    const { user, stream, sent } = openConversation({ conversation: { execution_status: 'running' } })
    expect(await screen.findByText('Working')).toBeVisible()
    await user.type(await composer(), 'also the docs{Enter}')
    expect(await screen.findByText('also the docs', { selector: 'p' })).toBeVisible()
    expect(await composer()).toHaveValue('')
    await waitFor(() => expect(sent['send-message']).toHaveLength(1))
    const [message] = sent['send-message'] as [{ id: string }]
    expect(message).toMatchObject({
      role: 'user',
      content: [{ type: 'text', text: 'also the docs' }],
      run: true,
    })
    stream.append(userMessage(message.id.replaceAll('-', ''), 'also the docs'))
    await waitFor(() => expect(screen.queryByText('Sent')).not.toBeInTheDocument())
    expect(screen.getAllByText('also the docs')).toHaveLength(1)
  })

  it('keeps a message that could not be sent and sends it again under the same id', async () => {
    const { user, sent } = openConversation()
    const ids: string[] = []
    server.use(
      http.post(
        '*/send-message',
        async ({ request }) => {
          ids.push(((await request.json()) as { id: string }).id)
          return problem(503, { code: 'sandbox_unavailable', detail: 'The sandbox does not answer.' })
        },
        { once: true },
      ),
    )
    await user.type(await composer(), 'hello{Enter}')
    expect(await screen.findByText('Not sent. The sandbox does not answer.')).toBeVisible()
    await user.click(screen.getByRole('button', { name: 'Send again' }))
    await waitFor(() => expect(sent['send-message']).toHaveLength(1))
    expect(sent['send-message']).toMatchObject([{ id: ids[0] }])
  })

  it('still has a message that was under way when the page was closed', async () => {
    localStorage.setItem(
      `slipway.outgoing.${ID}`,
      JSON.stringify([{ id: 'm1', text: 'do not lose me', state: 'sending', error: null }]),
    )
    const { user, stream, sent } = openConversation()
    expect(await screen.findByText('do not lose me')).toBeVisible()
    await user.click(screen.getByRole('button', { name: 'Send again' }))
    await waitFor(() => expect(sent['send-message']).toMatchObject([{ id: 'm1' }]))
    stream.append(userMessage('m1', 'do not lose me'))
    await waitFor(() => expect(localStorage.getItem(`slipway.outgoing.${ID}`)).toBe('null'))
    expect(screen.getAllByText('do not lose me')).toHaveLength(1)
  })

  it('says where a message stands in line, and takes it back from there', async () => {
    const withdrawn: string[] = []
    const { user, stream } = openConversation({
      conversation: { sandbox_status: 'PAUSED' },
      events: [userMessage('m0', 'before')],
      extra: [
        http.post('*/send-message', () =>
          HttpResponse.json({ success: true, sandbox_status: 'STARTING', message: 'queued' }),
        ),
        http.delete('*/pending-messages/:id', ({ params }) => {
          withdrawn.push(String(params.id))
          return HttpResponse.json({ success: true })
        }),
      ],
    })
    await user.type(await composer(), 'wake up{Enter}')
    stream.send({
      type: 'start_task',
      task: fakeStartTask({ id: ID, status: 'WAITING_FOR_SANDBOX', detail: 'Number 2 of 3 in line.' }),
    })
    expect(await screen.findByText('Number 2 of 3 in line.')).toBeVisible()
    await user.click(await screen.findByRole('button', { name: 'Take back' }))
    await waitFor(() => expect(withdrawn).toHaveLength(1))
    expect(await composer()).toHaveValue('wake up')
    expect(screen.queryByRole('button', { name: 'Take back' })).not.toBeInTheDocument()
  })

  it('shows what waits for the agent although another page has sent it', async () => {
    openConversation({
      task: { status: 'WAITING_FOR_SANDBOX' },
      conversation: { start_status: 'WAITING_FOR_SANDBOX', sandbox_status: 'STARTING' },
      extra: [
        http.get('*/pending-messages', () =>
          HttpResponse.json([
            {
              id: 'm1',
              content: [{ type: 'text', text: 'from my phone' }],
              created_at: '2026-01-02T03:04:05Z',
            },
          ]),
        ),
      ],
    })
    expect(await screen.findByText('from my phone')).toBeVisible()
    expect(screen.getByRole('button', { name: 'Take back' })).toBeVisible()
  })

  it('writes a new line with Shift+Enter', async () => {
    const { user, sent } = openConversation()
    await user.type(await composer(), 'one{Shift>}{Enter}{/Shift}two')
    expect(await composer()).toHaveValue('one\ntwo')
    expect(sent['send-message']).toBeUndefined()
  })

  it('stops with the button and with Ctrl+., and goes on when paused', async () => {
    const { user, stream, sent } = openConversation({ conversation: { execution_status: 'running' } })
    await user.click(await screen.findByRole('button', { name: 'Stop' }))
    await waitFor(() => expect(sent.interrupt).toHaveLength(1))
    await user.keyboard('{Control>}.{/Control}')
    await waitFor(() => expect(sent.interrupt).toHaveLength(2))
    stream.append(statusChange('s', 'paused'))
    await user.click(await screen.findByRole('button', { name: 'Continue' }))
    await waitFor(() => expect(sent.run).toHaveLength(1))
    expect(screen.queryByRole('button', { name: 'Stop' })).not.toBeInTheDocument()
  })
})
