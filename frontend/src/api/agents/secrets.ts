import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import type { Page, Secret, SecretInput } from '@/api/types'

const ROOT = '/api/v1/secrets'

export const secretKeys = { all: ['secrets'] as const }

/** The names and descriptions of the user's secrets. The app server never returns the values. */
export function secretsQuery() {
  return queryOptions({
    queryKey: secretKeys.all,
    queryFn: async ({ signal }) => (await request<Page<Secret>>(`${ROOT}/search`, { signal })).items,
  })
}

/** Adds a secret, or replaces the secret of the same name. The form shows the errors. */
export function useSaveSecret() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (secret: SecretInput) => request<Secret>(ROOT, { method: 'POST', body: secret }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: secretKeys.all }),
    meta: { errorShownInline: true },
  })
}

export function useDeleteSecret() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (name: string) =>
      request<unknown>(`${ROOT}/${encodeURIComponent(name)}`, { method: 'DELETE' }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: secretKeys.all }),
  })
}
