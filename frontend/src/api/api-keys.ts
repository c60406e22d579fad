import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from './client'
import type { ApiKey, CreatedApiKey } from './types'

export const apiKeyKeys = { all: ['api-keys'] as const }

export function apiKeysQuery() {
  return queryOptions({
    queryKey: apiKeyKeys.all,
    queryFn: ({ signal }) => request<ApiKey[]>('/api/v1/api-keys', { signal }),
  })
}

/** Creates a key; the reply is the only place its text ever appears. The form shows the errors. */
export function useCreateApiKey() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (name: string) =>
      request<CreatedApiKey>('/api/v1/api-keys', { method: 'POST', body: { name } }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: apiKeyKeys.all }),
    meta: { errorShownInline: true },
  })
}

export function useRevokeApiKey() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (id: string) => request<unknown>(`/api/v1/api-keys/${id}`, { method: 'DELETE' }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: apiKeyKeys.all }),
  })
}
