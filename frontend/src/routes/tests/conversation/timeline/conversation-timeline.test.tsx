import { screen, within } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { openConversation, timeline } from '@/test/open-conversation'
import { action, agentMessage, observation, statusChange, userMessage } from '@/test/sample-log'

describe('the chat', () => {
  it('shows a command with its output and exit code in one row', async () => {
    openConversation({
      events: [action('a', 'pytest -q'), observation('o', 'a', '\u001b[31m1 failed\u001b[0m', 1)],
    })
    const log = await timeline()
    expect(await within(log).findByText('pytest -q')).toBeVisible()
    expect(within(log).getByText('1 failed')).toBeVisible()
    expect(within(log).getByText('exit 1')).toBeVisible()
  })

  it('says of a command that somebody stopped that it was stopped, not that it failed', async () => {
    const stopped = {
      id: 'e',
      timestamp: '2026-01-02T03:04:06',
      source: 'agent',
      kind: 'AgentErrorEvent',
      tool_name: 'terminal',
      tool_call_id: 'call-a',
      error: 'Interrupted by the user; it may have run, wholly or in part.',
      classification: { kind: 'agent_action', retryable: true, user_action: 'none' },
    }
    openConversation({ events: [action('a', 'sleep 600'), stopped] })
    const log = await timeline()
    expect(await within(log).findByText('Stopped')).toBeVisible()
    expect(within(log).queryByText('Failed')).not.toBeInTheDocument()
  })

  it('streams a reply and then puts the durable one in its place', async () => {
    const { stream } = openConversation({ events: [userMessage('m', 'hi')] })
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

  it('says of a message sent during a run that the agent has yet to read it', async () => {
    const { stream } = openConversation({
      events: [userMessage('m', 'Go'), statusChange('s', 'running'), action('a', 'sleep 60')],
    })
    await within(await timeline()).findByText('Go')
    stream.append(userMessage('n', 'Stop!'))
    expect(await screen.findByText('Waiting for the agent to read it')).toBeVisible()
    stream.append(observation('o', 'a', ''), agentMessage('r', 'I stop.'))
    expect(await screen.findByText('I stop.')).toBeVisible()
    expect(screen.queryByText('Waiting for the agent to read it')).not.toBeInTheDocument()
  })

  it('says in one line that an event is not well-formed, and shows no figures that nothing can cost', async () => {
    const broken = { ...userMessage('m', 'hi'), llm_message: undefined } as never
    const forged = { accumulated_token_usage: { prompt_tokens: -1e18, completion_tokens: 5 } }
    const stats = {
      ...statusChange('s', 'idle'),
      key: 'stats',
      value: { usage_to_metrics: { agent: forged } },
    }
    openConversation({ events: [broken, null as never, stats, agentMessage('r', 'All is well.')] })
    expect(await screen.findByText('All is well.')).toBeVisible()
    expect(screen.getAllByText('An event that is not well-formed was left out.')).toHaveLength(2)
    expect(screen.queryByText(/could not be shown/)).not.toBeInTheDocument()
    expect(screen.getByText(/5 tokens/)).toBeVisible()
  })

  it('labels the boxes of task lists, and aligns tables as they say', async () => {
    openConversation({
      events: [agentMessage('r', '- [x] build\n- [ ] test\n\n| a | b |\n| - | -: |\n| 1 | 2 |')],
    })
    expect(await screen.findByRole('checkbox', { name: 'done' })).toBeChecked()
    expect(screen.getByRole('checkbox', { name: 'to do' })).not.toBeChecked()
    expect(screen.getByRole('cell', { name: '2' })).toHaveStyle({ textAlign: 'right' })
  })

  it('never lets the agent bring its own HTML or unsafe links', async () => {
    openConversation({
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
    const { user } = openConversation({ events: [unknown, statusChange('s', 'running')] })
    expect(await screen.findByText('FromTheFuture')).toBeVisible()
    await user.click(screen.getByRole('button', { name: 'Show 1 technical event' }))
    expect(await screen.findByText('execution_status = running')).toBeVisible()
  })
})
