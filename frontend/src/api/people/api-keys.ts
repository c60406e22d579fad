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
  /** The permissions of the key. If they are left out, the key has all permissions of the user. */
  scopes?: Permission[]
  /** The lifetime in days. If it is left out, the key does not expire. */
  expires_in_days?: number
  /** The networks that may use the key. If they are left out, every network may use it. */
  addresses?: string[]
}

/** Creates a key. The text of the key is only in this reply. The form shows the errors. */
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
