import { screen, waitFor, within } from '@testing-library/react'
import { http } from 'msw'
import { describe, expect, it } from 'vitest'
import type { ConversationEvent } from '@/events/wire/types'
import { problem } from '@/test/handlers'
import { composer, ID, openConversation } from '@/test/open-conversation'
import { agentMessage, goalUpdate, statusChange, userMessage } from '@/test/sample-log'
import { server } from '@/test/server'

const OBJECTIVE = 'Mend the harbour.'
const verdict = { score: 0.4, complete: false, missing: 'No test was run.' }
const sentBack = {
  ...agentMessage('told', 'The goal is not reached yet (audit 1 of 3).'),
  source: 'environment',
} as ConversationEvent
const JUDGED = [
  goalUpdate('g1'),
  userMessage('m1', OBJECTIVE),
  agentMessage('m2', 'Done, I think.'),
  goalUpdate('g2', { iteration: 1, verdict }),
  sentBack,
]
const RUNNING = [...JUDGED, statusChange('s', 'running')]

const strip = () => screen.findByRole('region', { name: 'Goal' })
const command = (name: string) => screen.getByRole('button', { name })

describe('the strip of a goal', () => {
  it('shows how far it is and what is missing, and stops it', async () => {
    const { user, sent } = openConversation({
      events: RUNNING,
      conversation: { execution_status: 'running', last_seq: RUNNING.length },
    })
    expect(within(await strip()).getByText('Round 2 of 3')).toBeVisible()
    expect((await strip()).textContent).toContain('No test was run.')
    await user.click(within(await strip()).getByRole('button', { name: 'Stop goal' }))
    await waitFor(() => expect(sent.stop).toEqual([null]))
  })

  it('resumes one that was stopped', async () => {
    const { user, sent } = openConversation({
      events: [...JUDGED, goalUpdate('g3', { iteration: 1, verdict, status: 'interrupted', active: false })],
      conversation: { execution_status: 'finished', last_seq: JUDGED.length + 1 },
    })
    expect(within(await strip()).getByText('Stopped in round 2 of 3')).toBeVisible()
    await user.click(within(await strip()).getByRole('button', { name: 'Resume' }))
    await waitFor(() => expect(sent.resume).toEqual([null]))
  })
})

describe('the timeline', () => {
  it('shows what the judge found, not what the agent was told of it', async () => {
    openConversation({ events: JUDGED })
    await waitFor(() => {
      const log = within(screen.getByRole('log', { name: 'Conversation' }))
      expect(log.getByText('Not done yet')).toBeVisible()
      expect(log.getByText('No test was run.')).toBeVisible()
      expect(log.getByText('Judged in round 1 of 3 · 40% likely done')).toBeVisible()
    })
    expect(screen.queryByText('The agent was given a hint')).toBeNull()
  })

  it('shows what a critic made of the last word, and why on request', async () => {
    const judged = { ...agentMessage('m', 'Done.'), critic_result: { score: 0.82, message: 'Well tested.' } }
    const { user } = openConversation({ events: [judged] })
    await user.click(await screen.findByRole('button', { name: 'Critic: 82%' }))
    expect(screen.getByText('Well tested.')).toBeVisible()
  })

  it('shows a hook that changed something in one line, and all of it on request', async () => {
    const hook = (id: string, fields: object) =>
      ({
        ...agentMessage(id, ''),
        kind: 'HookExecutionEvent',
        source: 'hook',
        hook_event_type: 'PreToolUse',
        hook_command: './check.sh',
        tool_name: 'terminal',
        success: true,
        exit_code: 0,
        ...fields,
      }) as ConversationEvent
    const { user } = openConversation({
      events: [hook('h1', {}), hook('h2', { blocked: true, exit_code: 2, reason: 'Not on a Friday.' })],
    })
    await user.click(await screen.findByRole('button', { name: 'PreToolUse hook refused (terminal)' }))
    expect(screen.getByText('./check.sh')).toBeVisible()
    expect(screen.getByText('Not on a Friday.')).toBeVisible()
    expect(screen.queryByRole('button', { name: /allowed/ })).toBeNull()
    await user.click(screen.getByRole('button', { name: 'Show 1 technical event' }))
    expect(screen.getByRole('button', { name: 'PreToolUse hook allowed (terminal)' })).toBeVisible()
  })
})

describe('the composer', () => {
  it('sets a goal instead of sending a message', async () => {
    const { user, sent } = openConversation({ conversation: { execution_status: 'finished' } })
    await user.type(await composer(), OBJECTIVE)
    await user.click(command('Goal mode: off'))
    await user.click(screen.getByRole('checkbox', { name: 'Work on this until it is really done' }))
    await user.type(screen.getByRole('spinbutton', { name: 'Maximum rounds' }), '{Backspace}{Backspace}5')
    await user.keyboard('{Escape}')
    await user.click(command('Send'))
    await waitFor(() => expect(sent.goal).toEqual([{ objective: OBJECTIVE, max_iterations: 5 }]))
    await waitFor(async () => expect(await composer()).toHaveValue(''))
    expect(sent['send-message']).toBeUndefined()
  })

  it('keeps what was written when the goal is refused', async () => {
    const { user } = openConversation({ conversation: { execution_status: 'finished' } })
    server.use(
      http.post(`*/app-conversations/${ID}/goal`, () =>
        problem(409, { code: 'already_running', detail: 'A run is going on.' }),
      ),
    )
    await user.type(await composer(), OBJECTIVE)
    await user.click(command('Goal mode: off'))
    await user.click(screen.getByRole('checkbox'))
    await user.keyboard('{Escape}')
    await user.click(command('Send'))
    expect(await screen.findByText('A run is going on.')).toBeVisible()
    expect(await composer()).toHaveValue(OBJECTIVE)
  })

  it('offers no goal while the agent works', async () => {
    openConversation({ conversation: { execution_status: 'running' } })
    await composer()
    expect(await screen.findByRole('button', { name: 'Stop' })).toBeVisible()
    expect(screen.queryByRole('button', { name: /Goal mode/ })).toBeNull()
  })
})
