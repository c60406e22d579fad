import type { Schemas, Sent } from '@/api/schema'

export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const

/**
 * How a model is asked. Null: as the catalogue of models says, or as its vendor does by default. Lengths are tokens;
 * `native_tool_calling`: false = agents read calls from the text of replies. `max_input_tokens` is the context window. `timeout`: seconds that the model's server may be silent. `extra_body`:
 * fields that the server adds to each call. `location`: where Vertex AI runs the model. `fallbacks`:
 * names of profiles that are asked while the model is unavailable.
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
 * Amounts are US dollars. `max_budget_per_task`: what a conversation with this model may cost unless it says
 * otherwise. The costs per token are given for a model whose price is not listed. `is_recording`: it replays a
 * recording instead of calling a vendor. `extra_header_names`: values are write-only. `is_own`: false for another
 * person's, who shares it. `is_shared`: with everyone, by an administrator.
 */
export type LLMProfile = Sent<Schemas['LLMProfileInfo']>

export type LLMProfileList = Sent<Schemas['LLMProfiles']>

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
