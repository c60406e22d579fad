import { queryOptions } from '@tanstack/react-query'
import { request } from './client'

/** What the server's catalogue says of a model. Tokens, and US dollars per token; null = not known. */
export interface ModelFacts {
  /** False = these are defaults, or what the model's family is known for. */
  is_listed: boolean
  context_window: number
  max_output_tokens: number | null
  input_cost_per_token: number | null
  output_cost_per_token: number | null
  cache_read_cost_per_token: number | null
  cache_write_cost_per_token: number | null
  sees_images: boolean
  /** Empty = takes none; null = not known. */
  efforts: string[] | null
  takes_thinking_budget: boolean
  refused: string[]
  protocols: string[]
}

/** What is known of any model, also of one that no profile has. */
export function modelFactsQuery(model: string) {
  return queryOptions({
    queryKey: ['model-facts', model],
    queryFn: ({ signal }) =>
      request<ModelFacts>(`/api/v1/settings/model-facts?model=${encodeURIComponent(model)}`, { signal }),
    enabled: model !== '' && !/\s/.test(model),
    staleTime: Infinity,
  })
}
