import { screen, waitFor, within } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { beforeEach, describe, expect, it } from 'vitest'
import type { AppConversation, StartTask } from '@/api/types'
import { action, agentMessage, fileEdited, observation, statusChange, userMessage } from '@/test/sample-log'
import { streamServer } from '@/test/stream-server'
import type { ConversationEvent } from '@/events/types'
import { fakeConversation, fakeDemoProfile, fakeStartTask } from '@/test/factories'
import { problem } from '@/test/handlers'
import { renderApp } from '@/test/render-app'
import { server } from '@/test/server'

const ID = 'c'.repeat(32)
const PATCH = `diff --git a/calc.py b/calc.py
index 1..2 100644
--- a/calc.py
+++ b/calc.py
@@ -1,2 +1,2 @@
 def divide(a, b):
-    return a // b
+    return a / b
diff --git "a/gr\\303\\266 \\303\\237e.bin" "b/gr\\303\\266 \\303\\237e.bin"
index 3..4 100644
Binary files "a/gr\\303\\266 \\303\\237e.bin" and "b/gr\\303\\266 \\303\\237e.bin" differ
`

interface Given {
  conversation?: Partial<AppConversation>
  task?: Partial<StartTask>
  events?: ConversationEvent[]
  patch?: () => Response
}

/** Opens the page of one conversation; `sent` collects the bodies of what the page posts, by the end of the path. */
function open({ conversation, task, events = [], patch = () => new HttpResponse(PATCH) }: Given = {}) {
  const known = fakeConversation({ id: ID, ...conversation })
  const stream = streamServer({
    conversation: known,
    task: fakeStartTask({ id: ID, status: 'READY', ...task }),
    events,
  })
  const sent: Record<string, unknown[]> = {}
  const note = async (request: Request) => {
    const name = new URL(request.url).pathname.split('/').at(-1) ?? ''
    const text = await request.text()
    ;(sent[name] ??= []).push(text === '' ? null : JSON.parse(text))
  }
  const app = renderApp({
    url: `/conversations/${ID}`,
    conversations: [known],
    profiles: [fakeDemoProfile()],
    extra: [
      stream.handler as never,
      http.get('*/git/patch', () => patch()),
      http.post('*/app-conversations/:id/:command', async ({ request, params }) => {
        await note(request)
        return HttpResponse.json(
          params.command === 'send-message'
            ? { success: true, sandbox_status: 'RUNNING', message: null }
            : { success: true },
        )
      }),
    ],
  })
  return { ...app, stream, sent }
}

const timeline = () => screen.findByRole('log', { name: 'Conversation' })
const composer = () => screen.findByRole('textbox', { name: 'Message to the agent' })

// jsdom has no layout: without a window the list would render no row.
const LAYOUT = { clientWidth: 800, clientHeight: 4000, offsetHeight: 100 }

beforeEach(() => {
  for (const [name, value] of Object.entries(LAYOUT)) {
    Object.defineProperty(HTMLElement.prototype, name, { configurable: true, get: () => value })
  }
  return () => Object.keys(LAYOUT).forEach((name) => Reflect.deleteProperty(HTMLElement.prototype, name))
})

describe('the start', () => {
  const failed = fakeStartTask({
    id: ID,
    status: 'ERROR',
    error: {
      code: 'repository_clone_failed',
      stage: 'PREPARING_REPOSITORY',
      cause: 'Git could not clone the repository.',
      fix: 'Add a token.',
      output: 'fatal: denied',
    },
  })
  failed.stages[2] = { ...failed.stages[2]!, state: 'failed', started_at: '2026-01-02T03:04:05Z' }

  it('lists the seven stages with the one under way', async () => {
    const running = fakeStartTask({ id: ID, status: 'WAITING_FOR_SANDBOX' })
    running.stages[1] = { ...running.stages[1]!, state: 'running', detail: 'Pulling the image' }
    open({ task: running, conversation: { start_status: 'WAITING_FOR_SANDBOX', sandbox_status: 'STARTING' } })
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
    const { user, stream } = open({ task: failed, conversation: { start_status: 'ERROR' } })
    expect(await screen.findByText('Git could not clone the repository.')).toBeVisible()
    expect(screen.getByText('Add a token.')).toBeVisible()
    expect(screen.getByText('fatal: denied')).toBeVisible()
    server.use(http.post('*/start-tasks/:id/retry', () => HttpResponse.json(retried)))
    await user.click(screen.getByRole('button', { name: 'Try again from here' }))
    await waitFor(() => expect(screen.queryByText('Add a token.')).not.toBeInTheDocument())
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
    open({ task: { status: 'WORKING', request }, conversation: { start_status: 'WORKING' } })
    expect(await within(await timeline()).findByText('Fix it')).toBeVisible()
  })
})

describe('the chat', () => {
  it('shows a command with its output and exit code in one row', async () => {
    open({ events: [action('a', 'pytest -q'), observation('o', 'a', '\u001b[31m1 failed\u001b[0m', 1)] })
    const log = await timeline()
    expect(await within(log).findByText('pytest -q')).toBeVisible()
    expect(within(log).getByText('1 failed')).toBeVisible()
    expect(within(log).getByText('exit 1')).toBeVisible()
  })

  it('streams a reply and then puts the durable one in its place', async () => {
    const { stream } = open({ events: [userMessage('m', 'hi')] })
    await within(await timeline()).findByText('hi')
    stream.send(
      { type: 'item_started', item_id: 'r', attempt: 0 },
      { type: 'delta', item_id: 'r', attempt: 0, order: 0, kind: 'text', content: 'I am thin' },
    )
    expect(await screen.findByText('I am thin')).toBeVisible()
    stream.append(agentMessage('r', 'I am thinking of **you**.'))
    expect(await screen.findByText('you', { selector: 'strong' })).toBeVisible()
    expect(screen.queryByText('I am thin')).not.toBeInTheDocument()
  })

  it('never lets the agent bring its own HTML or unsafe links', async () => {
    open({
      events: [
        agentMessage('r', '<img src=x onerror=alert(1)> [a](javascript:alert(1)) [b](https://b.example)'),
      ],
    })
    const link = await screen.findByRole('link', { name: 'b' })
    expect(link).toHaveAttribute('rel', expect.stringContaining('noopener'))
    expect(document.querySelector('[role=log] img')).toBeNull()
    expect(document.querySelector('a[href^="javascript"]')).toBeNull()
  })

  it('shows events of unknown kinds, and technical ones on request', async () => {
    const unknown = {
      id: 'x',
      timestamp: '2026-01-02T03:04:05',
      source: 'environment',
      kind: 'FromTheFuture',
    }
    const { user } = open({ events: [unknown, statusChange('s', 'running')] })
    expect(await screen.findByText('FromTheFuture')).toBeVisible()
    await user.click(screen.getByRole('button', { name: 'Show 1 technical event' }))
    expect(await screen.findByText('execution_status = running')).toBeVisible()
  })

  it('sends while the agent runs, shows the message at once and only once', async () => {
    const { user, stream, sent } = open({ conversation: { execution_status: 'running' } })
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
    const { user, sent } = open()
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
    const { user, stream, sent } = open()
    expect(await screen.findByText('do not lose me')).toBeVisible()
    await user.click(screen.getByRole('button', { name: 'Send again' }))
    await waitFor(() => expect(sent['send-message']).toMatchObject([{ id: 'm1' }]))
    stream.append(userMessage('m1', 'do not lose me'))
    await waitFor(() => expect(localStorage.getItem(`slipway.outgoing.${ID}`)).toBe('null'))
    expect(screen.getAllByText('do not lose me')).toHaveLength(1)
  })

  it('writes a new line with Shift+Enter', async () => {
    const { user, sent } = open()
    await user.type(await composer(), 'one{Shift>}{Enter}{/Shift}two')
    expect(await composer()).toHaveValue('one\ntwo')
    expect(sent['send-message']).toBeUndefined()
  })

  it('stops with the button and with Ctrl+., and goes on when paused', async () => {
    const { user, stream, sent } = open({ conversation: { execution_status: 'running' } })
    await user.click(await screen.findByRole('button', { name: 'Stop' }))
    await waitFor(() => expect(sent.interrupt).toHaveLength(1))
    await user.keyboard('{Control>}.{/Control}')
    await waitFor(() => expect(sent.interrupt).toHaveLength(2))
    stream.append(statusChange('s', 'paused'))
    await user.click(await screen.findByRole('button', { name: 'Continue' }))
    await waitFor(() => expect(sent.run).toHaveLength(1))
    expect(screen.queryByRole('button', { name: 'Stop' })).not.toBeInTheDocument()
  })

  it.each([
    [{ sandbox_status: 'PAUSED' as const, execution_status: 'running' as const }, 'Sandbox asleep'],
    [{ sandbox_status: 'MISSING' as const, execution_status: null }, 'The sandbox is gone'],
    [{ execution_status: 'finished' as const }, 'Finished'],
  ])('says what it knows of the agent: %j', async (conversation, text) => {
    open({ conversation: { last_seq: 9, ...conversation }, events: [statusChange('s', 'running')] })
    expect(await screen.findByText(text, { selector: '[aria-live]' })).toBeVisible()
    expect(screen.queryByText('Working')).not.toBeInTheDocument()
  })

  it('says that it is cut off instead of claiming that the agent works, and resumes where it was', async () => {
    const { user, stream } = open({
      conversation: { execution_status: 'running' },
      events: [userMessage('m', 'hi'), statusChange('s', 'running')],
    })
    await screen.findByText('Working')
    stream.drop(1012)
    expect(await screen.findByText(/connection was lost/)).toBeVisible()
    expect(screen.getByText('Not connected. Last known: Working')).toBeVisible()
    await user.click(screen.getByRole('button', { name: 'Try now' }))
    expect(await screen.findByText('Working')).toBeVisible()
    expect(stream.positions.at(-1)).toBe(2)
  })

  it('tells when there is no such conversation', async () => {
    const { stream } = open()
    await timeline()
    stream.drop(4004)
    expect(await screen.findByText('There is no such conversation')).toBeVisible()
  })
})

describe('the changes', () => {
  it('lists the changed files with counts and shows the difference', async () => {
    open()
    const file = await screen.findByRole('button', { name: /^calc\.py/ })
    expect(within(file).getByRole('img', { name: '1 lines added, 1 removed' })).toBeVisible()
    const row = await screen.findByText(
      (_, element) => element?.textContent === '    return a / b' && element.tagName === 'TD',
    )
    expect(row).toBeVisible()
    expect(screen.getByRole('button', { name: /^grö ße\.bin/ })).toBeVisible()
    expect(await screen.findByText(/A binary file/)).toBeVisible()
    expect(screen.getByRole('link', { name: 'Download the patch' })).toHaveAttribute(
      'href',
      `/api/v1/app-conversations/${ID}/git/patch`,
    )
  })

  it('asks anew when the agent has changed a file', async () => {
    let patch = ''
    const { stream } = open({ patch: () => new HttpResponse(patch) })
    expect(await screen.findByText('No changes')).toBeVisible()
    patch = PATCH
    stream.append(fileEdited('o', 'str_replace'))
    expect(await screen.findByRole('button', { name: /^calc\.py/ }, { timeout: 4000 })).toBeVisible()
  })

  it('is at peace with a sandbox that sleeps', async () => {
    open({ patch: () => problem(409, { code: 'sandbox_not_running', detail: 'Send a message to wake it.' }) })
    expect(await screen.findByText('The sandbox is not running')).toBeVisible()
    expect(screen.getByText('Send a message to wake it.')).toBeVisible()
  })
})

describe('the sidebar', () => {
  it('follows the stream', async () => {
    const { stream } = open()
    const list = await screen.findByRole('navigation', { name: 'Main' })
    expect(await within(list).findByText('Fix the failing test')).toBeVisible()
    stream.send({
      type: 'conversation',
      conversation: fakeConversation({ id: ID, title: 'Named by the agent' }),
    })
    expect(await within(list).findByText('Named by the agent')).toBeVisible()
  })
})

describe('the header', () => {
  it('names repository and model, marks a recording, and renames', async () => {
    const { user } = open({
      conversation: { llm_profile: 'demo', selected_repository: 'octo/app', selected_branch: 'main' },
    })
    expect(await screen.findByText('octo/app', { selector: 'header *' })).toBeVisible()
    expect(await screen.findByText('Recording')).toBeVisible()
    server.use(
      http.patch('*/app-conversations/:id', async ({ request }) =>
        HttpResponse.json(fakeConversation({ id: ID, ...((await request.json()) as { title: string }) })),
      ),
    )
    await user.click(screen.getByRole('button', { name: 'Fix the failing test' }))
    const field = screen.getByRole('textbox', { name: 'Title' })
    await user.clear(field)
    await user.type(field, 'Mend division{Enter}')
    expect(await screen.findByRole('heading', { name: 'Mend division' })).toBeVisible()
  })
})
