import type { UsageMetrics } from '@/events/wire/types'

export function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

/**
 * Adds up the counts of the log. They are separate for each use of a model, such as agent, condenser or
 * title. The limits are those of the agent.
 */
export function sumUsage(usageToMetrics: unknown): UsageMetrics | null {
  const all = Object.values(asRecord(usageToMetrics)).map(asRecord)
  if (all.length === 0) return null
  const agent = asRecord(asRecord(usageToMetrics)['agent'] ?? all[0])
  const ownTokens = [asRecord(agent['accumulated_token_usage'])]
  const tokens = all.map((metrics) => asRecord(metrics['accumulated_token_usage']))
  const total = (records: Record<string, unknown>[], key: string) =>
    records.reduce((sum, record) => sum + amountOf(record[key]), 0)
  return {
    accumulated_cost: total(all, 'accumulated_cost'),
    max_budget_per_task: total([agent], 'max_budget_per_task') || null,
    accumulated_token_usage: {
      prompt_tokens: total(tokens, 'prompt_tokens'),
      completion_tokens: total(tokens, 'completion_tokens'),
      cache_read_tokens: total(tokens, 'cache_read_tokens'),
      context_window: total(ownTokens, 'context_window'),
      per_turn_token: total(ownTokens, 'per_turn_token'),
    },
  }
}

const MAX_AMOUNT = 1e15

/** Returns the amount. Sandboxes write the log, so a value that is not a valid amount is ignored. */
function amountOf(value: unknown): number {
  return typeof value === 'number' && value >= 0 && value <= MAX_AMOUNT ? value : 0
}
