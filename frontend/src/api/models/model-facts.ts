import type { Schemas } from '@/api/schema'
import { queryOptions } from '@tanstack/react-query'
import { request } from '@/api/client'

/**
 * What the server's catalogue says of a model. Tokens, and US dollars per token; null = not known.
 * `is_listed`: false = these are defaults, or what the model's family is known for.
 * `efforts`: empty = takes none; null = not known.
 */
export type ModelFacts = Schemas['ModelFacts']

/** The known facts about a model. The model need not be in a profile. */
export function modelFactsQuery(model: string) {
  return queryOptions({
    queryKey: ['model-facts', model],
    queryFn: ({ signal }) =>
      request<ModelFacts>(`/api/v1/settings/model-facts?model=${encodeURIComponent(model)}`, { signal }),
    enabled: model !== '' && !/\s/.test(model),
    staleTime: Infinity,
  })
}
