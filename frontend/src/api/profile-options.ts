import type { ModelFacts } from './model-facts'

export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const

/** How a model is asked. Null: as the catalogue of models says, or as its vendor does by default. */
export interface ProfileOptions {
  reasoning_effort: (typeof EFFORTS)[number] | null
  /** Tokens; so are the next two. */
  thinking_budget: number | null
  max_output_tokens: number | null
  /** The context window. */
  max_input_tokens: number | null
  temperature: number | null
  top_p: number | null
  /** Seconds that the model's server may be silent. */
  timeout: number | null
  supports_images: boolean | null
  cache_read_cost_per_token: number | null
  cache_write_cost_per_token: number | null
  /** Fields that the server adds to each call. */
  extra_body: Record<string, unknown>
}

export interface LLMProfile extends ProfileOptions {
  name: string
  model: string
  base_url: string | null
  api_key_set: boolean
  /** US dollars a conversation with this model may cost unless it says otherwise. */
  max_budget_per_task: number | null
  /** US dollars, for a model whose price is not listed. */
  input_cost_per_token: number | null
  output_cost_per_token: number | null
  /** A recorded model: it replays a recording instead of calling a vendor. */
  is_recording: boolean
  /** Values are write-only. */
  extra_header_names: string[]
  /** False: another person's, who shares it. */
  is_own: boolean
  /** With everyone, by an administrator. */
  is_shared: boolean
  facts: ModelFacts
}

export interface LLMProfileList {
  profiles: LLMProfile[]
  active_profile: string | null
}

export interface LLMProfileInput extends Partial<ProfileOptions> {
  model: string
  base_url?: string | null
  /** Write-only. Left out = the stored key stays. */
  api_key?: string
  /** Write-only. Left out = the stored ones stay. */
  extra_headers?: Record<string, string>
  max_budget_per_task?: number | null
  input_cost_per_token?: number | null
  output_cost_per_token?: number | null
}
