import { screen, waitFor, within } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import type { ErrorClassification } from '@/events/wire/types'
import { http, HttpResponse } from 'msw'
import { fakeConversation } from '@/test/factories'
import { ID, openConversation, timeline } from '@/test/open-conversation'
import { agentMessage, statusChange, userMessage } from '@/test/sample-log'

const common = { id: 'x', timestamp: '2026-01-02T03:04:05', source: 'environment' }

describe('a model that has to be asked again', () => {
  const retry = {
    code: 'LLMServiceUnavailableError',
    detail: 'The model’s server answered HTTP 529',
    model: 'anthropic/sonnet',
    wait_seconds: 900,
    next_attempt: 3,
    max_attempts: 8,
  }
  const aborted = { type: 'item_aborted', item_id: 'r', attempt: 2, reason: 'overloaded', retry } as const

  it('is counted down to, with the reason on demand, until it begins to answer', async () => {
    const { user, stream } = openConversation({ events: [userMessage('m', 'hi')] })
    await within(await timeline()).findByText('hi')
    stream.send(aborted)
    expect(
      await screen.findByText(/^The model is overloaded: asking again in [89]\d\d s \(attempt 3 of 8\)$/),
    ).toBeVisible()
    expect(screen.queryByText(retry.detail)).not.toBeInTheDocument()
    await user.click(screen.getByRole('button', { name: 'Details' }))
    expect(screen.getByText(retry.detail)).toBeVisible()
    expect(screen.getByText('anthropic/sonnet')).toBeVisible()
    stream.send({ type: 'item_started', item_id: 'r', attempt: 3 })
    await waitFor(() => expect(screen.queryByText(/asking again/)).toBeNull())
  })

  it('is not said to be asked again once the sandbox has stopped', async () => {
    const { stream } = openConversation({ events: [userMessage('m', 'hi')] })
    await within(await timeline()).findByText('hi')
    stream.send(aborted)
    expect(await screen.findByText(/^The model is overloaded: asking again/)).toBeVisible()
    stream.send({ type: 'conversation', conversation: fakeConversation({ id: ID, sandbox_status: 'ERROR' }) })
    await waitFor(() => expect(screen.queryByText(/asking again/)).toBeNull())
  })

  it('is named when it is asked at once', async () => {
    const { stream } = openConversation({ events: [userMessage('m', 'hi')] })
    await within(await timeline()).findByText('hi')
    stream.send({ ...aborted, retry: { ...retry, code: 'LLMBudgetError', wait_seconds: 0 } })
    expect(
      await screen.findByText(
        'The account of the model is used up: asking anthropic/sonnet now (attempt 3 of 8)',
      ),
    ).toBeVisible()
  })

  it('is remarked on when another one answered instead', async () => {
    const passed = { model: 'anthropic/sonnet', code: 'LLMRateLimitError', detail: 'HTTP 429' }
    const { user } = openConversation({
      events: [
        {
          ...common,
          kind: 'ConversationStateUpdateEvent',
          key: 'agent_state',
          value: { llm_fallback: { model: 'openai/small', passed_over: [passed] } },
        },
        agentMessage('r', 'Hello.'),
      ],
    })
    await user.click(await screen.findByRole('button', { name: 'openai/small answered instead' }))
    expect(screen.getByText('HTTP 429')).toBeVisible()
    expect(screen.queryByText(/technical event/)).not.toBeInTheDocument()
  })
})

describe('an error that ends the run', () => {
  it.each<[string, ErrorClassification | null, string, boolean]>([
    [
      'LLMAuthenticationError',
      { kind: 'auth', retryable: false, user_action: 'settings' },
      'Check the key',
      true,
    ],
    [
      'LLMBadRequestError',
      { kind: 'config', retryable: false, user_action: 'settings' },
      'Check this model',
      true,
    ],
    [
      'LLMNotAvailableError',
      { kind: 'config', retryable: false, user_action: 'settings' },
      'another model',
      true,
    ],
    ['LLMContextWindowError', null, 'too long for this model', true],
    ['LLMBudgetError', { kind: 'quota', retryable: false, user_action: 'settings' }, 'Top up', true],
    [
      'MaxBudgetReached',
      { kind: 'quota', retryable: true, user_action: 'settings' },
      'how much more it may cost',
      false,
    ],
    [
      'AdministratorLimitReached',
      { kind: 'quota', retryable: false, user_action: 'settings' },
      'Ask your administrator',
      false,
    ],
    ['LLMContentPolicyError', null, 'with other words', false],
    ['MaxIterationsReached', null, 'the same number of steps again', false],
    [
      'LLMTimeoutError',
      { kind: 'transient', retryable: true, user_action: 'retry' },
      'often temporary',
      false,
    ],
    ['Other', { kind: 'from_the_future', retryable: true, user_action: 'pray' }, 'often temporary', false],
    [
      'Other',
      { kind: 'from_the_future', retryable: false, user_action: 'pray' },
      'another instruction',
      false,
    ],
    ['Other', null, 'another instruction', false],
  ])('says what to do: %s %j', async (code, classification, advice, leadsToModels) => {
    openConversation({
      events: [
        { ...common, kind: 'ConversationErrorEvent', code, detail: 'It broke.', classification },
        statusChange('s', 'error'),
      ],
      conversation: { execution_status: 'error', last_seq: 2 },
    })
    const role = /^(MaxBudget|AdministratorLimit)Reached$/.test(code) ? 'status' : 'alert'
    const notice = within(
      await screen.findByText('It broke.').then((text) => text.closest<HTMLElement>(`[role=${role}]`)!),
    )
    expect(notice.getByText('It broke.')).toBeVisible()
    expect(notice.getByText(new RegExp(advice))).toBeVisible()
    const link = notice.queryByRole('link', { name: 'Settings → Models' })
    if (leadsToModels) expect(link).toHaveAttribute('href', '/settings/models')
    else expect(link).toBeNull()
  })
})

describe('an agent that goes round in circles', () => {
  it('is given a hint, which does not pass for words of its own', async () => {
    const hint = { ...userMessage('n', 'You repeat yourself.'), source: 'environment' }
    const { user } = openConversation({ events: [hint] })
    const marker = await screen.findByRole('button', { name: 'The agent was given a hint' })
    expect(screen.queryByText('You repeat yourself.')).not.toBeInTheDocument()
    await user.click(marker)
    expect(screen.getByText('You repeat yourself.')).toBeVisible()
  })

  it('is stuck in the end, and the page and the list say what to do', async () => {
    openConversation({
      conversation: { execution_status: 'stuck', last_seq: 1 },
      events: [statusChange('s', 'stuck')],
    })
    expect(await screen.findByText('Stuck', { selector: '[aria-live]' })).toBeVisible()
    expect(screen.getByText('The agent repeated itself. Tell it how to go on.')).toBeVisible()
    expect(screen.getAllByRole('img', { name: 'Stuck' })).toHaveLength(2)
    expect(screen.getByRole('button', { name: 'Continue' })).toBeVisible()
  })
})

describe('a condensed memory', () => {
  it('is a divider that shows the summary on demand', async () => {
    const { user } = openConversation({
      events: [
        {
          ...common,
          kind: 'Condensation',
          forgotten_event_ids: ['a', 'b'],
          summary: 'Division is **mended**.',
        },
      ],
    })
    await user.click(await screen.findByRole('button', { name: 'Memory condensed: 2 older events' }))
    expect(await screen.findByText('mended', { selector: 'strong' })).toBeVisible()
  })
})

describe('a sandbox that was stopped for good', () => {
  it('says why and is woken on request', async () => {
    const woken: string[] = []
    const { user } = openConversation({
      conversation: {
        sandbox_status: 'ERROR',
        execution_status: null,
        sandbox_error: {
          code: 'sandbox_workspace_full',
          cause: 'Its workspace holds 21.0 GiB.',
          fix: 'Wake it and remove what is not needed.',
          output: '',
        },
      },
      events: [userMessage('m', 'hi')],
      extra: [
        http.post('*/api/v1/sandboxes/:id/resume', ({ params }) => {
          woken.push(String(params.id))
          return HttpResponse.json({ success: true })
        }),
      ],
    })
    expect(await screen.findByText('Its workspace holds 21.0 GiB.')).toBeVisible()
    expect(screen.getByText('Wake it and remove what is not needed.')).toBeVisible()
    await user.click(screen.getByRole('button', { name: 'Wake the sandbox' }))
    await waitFor(() => expect(woken).toEqual([ID]))
  })
})

describe('finished work', () => {
  it('is shown as verified or unverified, with the commands that ran on request', async () => {
    const ran = { event_id: 'e', command: 'npm test', exit_code: 0, is_test: true, is_cited: true }
    const proof = { status: 'verified', changed: ['/w/a.ts'], commands: [ran] }
    const key = 'agent_state'
    const { user } = openConversation({
      events: [
        userMessage('m', 'Do it'),
        { ...common, id: 'p1', kind: 'ConversationStateUpdateEvent', key, value: { proof } },
        {
          ...common,
          id: 'p2',
          kind: 'ConversationStateUpdateEvent',
          key,
          value: { proof: { status: 'unverified', changed: [], commands: [] } },
        },
      ],
    })
    const log = within(await timeline())
    await user.click(await log.findByRole('button', { name: 'Verified' }))
    expect(log.getByText('npm test')).toBeVisible()
    expect(log.getByText(/exit code 0, named in the report/)).toBeVisible()
    expect(log.getByText('1 file changed by editing tools')).toBeVisible()
    await user.click(log.getByRole('button', { name: 'Unverified' }))
    expect(log.getByText('No command has run after the last change.')).toBeVisible()
  })
})
