import type { ModelFacts } from '@/api/models/model-facts'
import type { LLMProfile, ProfileOptions } from '@/api/models/profile-options'

export function fakeModelFacts(overrides: Partial<ModelFacts> = {}): ModelFacts {
  return {
    is_listed: true,
    context_window: 200_000,
    max_output_tokens: 64_000,
    input_cost_per_token: 0.000003,
    output_cost_per_token: 0.000015,
    cache_read_cost_per_token: 0.0000003,
    cache_write_cost_per_token: 0.00000375,
    sees_images: true,
    calls_tools: true,
    efforts: ['low', 'medium', 'high'],
    takes_thinking_budget: true,
    refused: [],
    protocols: ['anthropic'],
    ...overrides,
  }
}

/** The values of a profile that uses the catalogue for everything. */
export const NO_VALUES = {
  max_budget_per_task: null,
  input_cost_per_token: null,
  output_cost_per_token: null,
  reasoning_effort: null,
  thinking_budget: null,
  max_output_tokens: null,
  max_input_tokens: null,
  temperature: null,
  top_p: null,
  timeout: null,
  fallbacks: [],
  location: null,
  supports_images: null,
  native_tool_calling: null,
  cache_read_cost_per_token: null,
  cache_write_cost_per_token: null,
  extra_body: {},
} satisfies ProfileOptions & Partial<LLMProfile>
