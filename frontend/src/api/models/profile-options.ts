import type { Schemas, Sent } from '@/api/schema'

export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const

/**
 * The options for calls of a model. Null means the value of the catalogue of models, or the default of the
 * vendor. Lengths are tokens. If `native_tool_calling` is false, agents read calls from the text of replies.
 * `max_input_tokens` is the context window. `timeout` is the number of seconds that the model's server may
 * send nothing. `extra_body` are fields that the app server adds to each call. `location` is the place where
 * Vertex AI runs the model. `fallbacks` are the names of profiles that are used while the model is
 * unavailable.
 */
export type ProfileOptions = Pick<
  LLMProfile,
  | 'reasoning_effort'
  | 'thinking_budget'
  | 'max_output_tokens'
  | 'max_input_tokens'
  | 'temperature'
  | 'top_p'
  | 'timeout'
  | 'supports_images'
  | 'native_tool_calling'
  | 'cache_read_cost_per_token'
  | 'cache_write_cost_per_token'
  | 'location'
> & { fallbacks: string[]; extra_body: Record<string, unknown> }

/**
 * A model profile. Amounts are US dollars. `max_budget_per_task` is the budget of a conversation with this
 * model, unless the conversation has another budget. The costs per token are set for a model whose price is
 * not listed. `is_recording` is true if the profile replays a recording instead of calling a vendor.
 * `extra_header_names` are the names only, because the app server never returns the values. `is_own` is false
 * for a profile that another person shares. `is_shared` is true if an administrator shares the profile with
 * everyone.
 */
export type LLMProfile = Sent<Schemas['LLMProfileInfo']>

export type LLMProfileList = Sent<Schemas['LLMProfiles']>

export interface LLMProfileInput extends Partial<ProfileOptions> {
  model: string
  base_url?: string | null
  /** The API key. The app server never returns it. If it is left out, the stored key stays. */
  api_key?: string
  /**
   * Additional headers. The app server never returns their values. If they are left out, the stored headers
   * stay.
   */
  extra_headers?: Record<string, string>
  max_budget_per_task?: number | null
  input_cost_per_token?: number | null
  output_cost_per_token?: number | null
}
