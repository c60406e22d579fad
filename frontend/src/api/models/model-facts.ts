import type { Schemas } from '@/api/schema'
import { queryOptions } from '@tanstack/react-query'
import { request } from '@/api/client'

/**
 * The facts that the app server's catalogue has about a model. Sizes are tokens. Prices are US dollars per
 * token. Null means not known. If `is_listed` is false, the facts are defaults or come from the model's
 * family. `efforts` is empty if the model has no effort levels, and null if that is not known.
 */
export type ModelFacts = Schemas['ModelFacts']

/** The known facts about a model. The model does not have to be in a profile. */
export function modelFactsQuery(model: string) {
  return queryOptions({
    queryKey: ['model-facts', model],
    queryFn: ({ signal }) =>
      request<ModelFacts>(`/api/v1/settings/model-facts?model=${encodeURIComponent(model)}`, { signal }),
    enabled: model !== '' && !/\s/.test(model),
    staleTime: Infinity,
  })
}
