import { screen, waitFor, within } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { describe, expect, it } from 'vitest'
import type { ConversationEvent } from '@/events/wire/types'
import { ID, openConversation } from '@/test/open-conversation'
import { problem } from '@/test/handlers'
import { agentMessage, statusChange, toolCall, toolResult, userMessage } from '@/test/sample-log'
import { server } from '@/test/server'

const CHILD = 'd'.repeat(32)

function told(id: string, fields: Record<string, unknown>): ConversationEvent {
  const task = {
    conversation_id: CHILD,
    action_id: 'a1',
    subagent: 'code-explorer',
    description: 'Find the lamp',
    status: 'running',
    last_action: '',
    cost: 0,
    asks: [],
    isolation: 'shared',
    ...fields,
  }
  return {
    ...statusChange(id, ''),
    key: 'agent_state',
    value: { tasks: { task_00000001: task } },
  } as ConversationEvent
}

const HANDED = [
  userMessage('m1', 'Light the harbour.'),
  statusChange('s1', 'running'),
  toolCall('a1', {
    kind: 'TaskAction',
    prompt: 'Where is the lamp?',
    description: 'Find the lamp',
    subagent_type: 'code-explorer',
  }),
]

function childLog() {
  return http.get(`*/app-conversations/${ID}/sub-conversations/${CHILD}/events`, ({ request }) => {
    const isFirst = !new URL(request.url).searchParams.has('page_id')
    const items = isFirst
      ? [userMessage('c1', 'Where is the lamp?')]
      : [toolCall('c2', { kind: 'TerminalAction', command: 'grep -rn lamp .' }), agentMessage('c3', 'Here.')]
    return HttpResponse.json({ items, next_page_id: isFirst ? 'c2' : null })
  })
}

describe('a task of a sub-agent', () => {
  it('shows what it does now and what it costs', async () => {
    openConversation({
      events: [...HANDED, told('t1', { last_action: 'Search for the lamp', cost: 0.25 })],
      conversation: { execution_status: 'running' },
    })
    expect(await screen.findByText('Find the lamp')).toBeVisible()
    expect(screen.getByText('code-explorer')).toBeVisible()
    expect(screen.getByText('Search for the lamp')).toBeVisible()
    expect(screen.getByText('$0.25')).toBeVisible()
  })

  it('opens into all that the sub-agent has done', async () => {
    const { user } = openConversation({
      events: [
        ...HANDED,
        told('t1', { status: 'completed' }),
        toolResult('a1', 'TaskObservation', 'It stands on the pier.'),
      ],
      conversation: { execution_status: 'finished' },
    })
    server.use(childLog())
    expect(await screen.findByText('It stands on the pier.')).toBeVisible()
    await user.click(screen.getByRole('button', { name: 'Show its work' }))
    const work = within(await screen.findByRole('region', { name: 'The work of code-explorer' }))
    expect(await work.findByText('Here.')).toBeVisible()
    expect(work.getByText(/grep -rn lamp/)).toBeVisible()
    expect(work.queryByRole('button', { name: 'Restore to here' })).toBeNull()
  })

  it('is at peace with a sandbox that sleeps, and shows the work when it is awake', async () => {
    let sleeps = true
    const { user } = openConversation({
      events: [...HANDED, told('t1', { status: 'completed' }), toolResult('a1', 'TaskObservation', 'Found.')],
      conversation: { execution_status: null, sandbox_status: 'PAUSED' },
    })
    server.use(
      http.get(`*/app-conversations/${ID}/sub-conversations/${CHILD}/events`, () =>
        sleeps ? problem(409, { code: 'sandbox_not_running', detail: 'It does not run.' }) : undefined,
      ),
      childLog(),
    )
    await user.click(await screen.findByRole('button', { name: 'Show its work' }))
    const work = within(await screen.findByRole('region', { name: 'The work of code-explorer' }))
    expect(await work.findByText(/A message wakes it/)).toBeVisible()
    expect(work.queryByRole('alert')).toBeNull()
    sleeps = false
    expect(await work.findByText('Here.', undefined, { timeout: 30_000 })).toBeVisible()
  })

  it('shows what the sub-agent asks, whole, where the user answers', async () => {
    const asks = [
      {
        tool_name: 'terminal',
        summary: 'Clean up',
        action: { kind: 'TerminalAction', command: 'rm -rf build' },
      },
    ]
    const { user, sent } = openConversation({
      events: [
        ...HANDED,
        told('t1', { status: 'waiting', asks }),
        statusChange('s2', 'waiting_for_confirmation'),
      ],
      conversation: { execution_status: 'waiting_for_confirmation' },
    })
    expect(await screen.findByText('Its sub-agent wants to: Clean up')).toBeVisible()
    expect(screen.getByText('rm -rf build')).toBeVisible()
    await user.click(screen.getByRole('button', { name: 'Approve' }))
    await waitFor(() => expect(JSON.stringify(sent)).toContain('"accept":true'))
  })
})
