import type { Schemas } from '@/api/schema'
import { queryOptions } from '@tanstack/react-query'
import { request } from '@/api/client'

/** A tab of the agent's browser. */
export type BrowserTab = Schemas['BrowserTab']

/** The state of the agent's browser at one moment. `image_url` is a `data:` URL. */
export type BrowserView = Schemas['BrowserView']

export const browserKeys = { view: (id: string) => ['browser', id] as const }

/** The present state of the agent's browser. */
export function browserQuery(id: string) {
  return queryOptions({
    queryKey: browserKeys.view(id),
    queryFn: ({ signal }) => request<BrowserView>(`/api/v1/app-conversations/${id}/browser`, { signal }),
  })
}
