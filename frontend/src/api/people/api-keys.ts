import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import type { ApiKey, CreatedApiKey, Permission } from '@/api/types'

export const apiKeyKeys = { all: ['api-keys'] as const }

export function apiKeysQuery() {
  return queryOptions({
    queryKey: apiKeyKeys.all,
    queryFn: ({ signal }) => request<ApiKey[]>('/api/v1/api-keys', { signal }),
  })
}

export interface NewApiKey {
  name: string
  /** Left out: all that the user may do. */
  scopes?: Permission[]
  /** Left out: for ever. */
  expires_in_days?: number
  /** Left out: the key counts from everywhere. */
  addresses?: string[]
}

/** Creates a key; the reply is the only place its text ever appears. The form shows the errors. */
export function useCreateApiKey() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (wanted: NewApiKey) =>
      request<CreatedApiKey>('/api/v1/api-keys', { method: 'POST', body: wanted }),
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
