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
