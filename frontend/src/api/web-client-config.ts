import { queryOptions } from '@tanstack/react-query'
import { request } from './client'
import type { WebClientConfig } from './types'

export const webClientConfigKeys = { all: ['web-client-config'] as const }

/** The properties of this server, such as version, kind of sandbox and demo. The request needs no sign-in. */
export function webClientConfigQuery() {
  return queryOptions({
    queryKey: webClientConfigKeys.all,
    queryFn: ({ signal }) => request<WebClientConfig>('/api/v1/web-client/config', { signal }),
    staleTime: Infinity,
  })
}
