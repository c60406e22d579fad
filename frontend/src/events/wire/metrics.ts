/** What events tell beside what was done: errors, verdicts, usage. */

export interface ErrorClassification {
  kind: string
  retryable: boolean
  user_action: string | null
}

/** What a critic makes of the work: how likely it is to be a success, from 0 to 1, and why. */
export interface CriticResult {
  score: number
  message: string
}

export interface TokenUsage {
  prompt_tokens: number
  completion_tokens: number
  cache_read_tokens?: number
  /** Of the agent's own model: how much it can take, and how much its last call has used. */
  context_window?: number
  per_turn_token?: number
}

export interface UsageMetrics {
  accumulated_cost: number
  max_budget_per_task?: number | null
  accumulated_token_usage?: TokenUsage | null
}
