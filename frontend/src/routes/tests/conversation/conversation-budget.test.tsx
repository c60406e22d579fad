import { screen, waitFor } from '@testing-library/react'
import { http } from 'msw'
import { describe, expect, it } from 'vitest'
import type { ConversationEvent } from '@/events/wire/types'
import { problem } from '@/test/handlers'
import { openConversation } from '@/test/open-conversation'
import { statusChange } from '@/test/sample-log'
import { server } from '@/test/server'

const common = { timestamp: '2026-01-02T03:04:05.000000', source: 'environment' }

function stats(cost: number, budget: number | null): ConversationEvent {
  const metrics = {
    model_name: 'openai/gpt-4o',
    accumulated_cost: cost,
    max_budget_per_task: budget,
    accumulated_token_usage: {
      prompt_tokens: 90_000,
      completion_tokens: 1_000,
      context_window: 128_000,
      per_turn_token: 64_000,
    },
  }
  return {
    ...common,
    id: 'stats',
    kind: 'ConversationStateUpdateEvent',
    key: 'stats',
    value: { usage_to_metrics: { agent: metrics } },
  }
}

function stopped(code: string): ConversationEvent {
  return { ...common, id: 'e', kind: 'ConversationErrorEvent', code, detail: 'It stopped.' }
}

describe('a budget', () => {
  it('stands beside what has been spent', async () => {
    openConversation({ events: [stats(0.75, 2)] })
    expect(await screen.findByText(/\$0\.75 of \$2\.00/)).toBeVisible()
  })

  it('counts what programs in the sandbox have spent, and says how much that is', async () => {
    const tokens = {
      prompt_tokens: 8000,
      completion_tokens: 1000,
      cache_read_tokens: 0,
      cache_write_tokens: 0,
    }
    openConversation({
      events: [stats(0.75, 2)],
      conversation: { program_usage: { calls: 3, cost: 0.5, ...tokens } },
    })
    expect(await screen.findByText(/\$1\.25 of \$2\.00/)).toBeVisible()
    expect(screen.getByText(/100K tokens/)).toBeVisible()
    expect(screen.getByText('$0.50 by programs')).toBeVisible()
  })

  it('that is used up can be raised with one click', async () => {
    const { user, sent } = openConversation({
      events: [stats(2.25, 2), stopped('MaxBudgetReached'), statusChange('s', 'paused')],
      conversation: { execution_status: 'paused', last_seq: 3 },
    })
    expect(await screen.findByText('The budget is used up')).toBeVisible()
    await user.click(screen.getByRole('button', { name: 'Continue with +$2.00' }))
    await waitFor(() => expect(sent['budget']).toEqual([{ max_budget_per_task: 4.25, run: true }]))
  })

  it('that cannot be kept can be given up', async () => {
    const { user, sent } = openConversation({
      events: [stopped('PriceUnknown'), statusChange('s', 'error')],
      conversation: { execution_status: 'error', last_seq: 2 },
    })
    await user.click(await screen.findByRole('button', { name: 'Continue without a limit' }))
    await waitFor(() => expect(sent['budget']).toEqual([{ max_budget_per_task: null, run: true }]))
  })
})

describe('the context meter', () => {
  it('shows how full the window is, and condenses', async () => {
    const { user, sent } = openConversation({ events: [stats(0.1, null)] })
    await user.click(await screen.findByRole('button', { name: '50% of context' }))
    expect(screen.getByText(/64K of the 128K tokens/)).toBeVisible()
    await user.click(screen.getByRole('menuitem', { name: 'Condense now' }))
    expect(await screen.findByText('Older steps were summarized.')).toBeVisible()
    await waitFor(() => expect(sent['condense']).toEqual([null]))
  })

  it('says why nothing was condensed', async () => {
    const { user } = openConversation({ events: [stats(0.1, null)] })
    server.use(
      http.post('*/condense', () =>
        problem(409, { code: 'nothing_to_condense', detail: 'There is nothing to sum up yet.' }),
      ),
    )
    await user.click(await screen.findByRole('button', { name: '50% of context' }))
    await user.click(screen.getByRole('menuitem', { name: 'Condense now' }))
    expect(await screen.findByText('There is nothing to sum up yet.')).toBeVisible()
  })
})

describe('the prompt cache', () => {
  it('shows how much of the last prompts it served', async () => {
    openConversation({
      events: [stats(0.1, null)],
      conversation: { prompt_cache: { calls: 10, hit_rate: 0.916, misses: 0, cause: null } },
    })
    expect(await screen.findByRole('button', { name: '91% cached' })).toBeVisible()
  })

  it('says when it served less, and why', async () => {
    const { user } = openConversation({
      events: [stats(0.1, null)],
      conversation: { prompt_cache: { calls: 10, hit_rate: 0.42, misses: 2, cause: 'condensed' } },
    })
    await user.click(await screen.findByRole('button', { name: '42% cached' }))
    expect(screen.getByText(/^2 of these calls found much less/)).toBeVisible()
    expect(screen.getByText(/older steps were condensed/)).toBeVisible()
  })
})
