import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import type { Schemas } from '@/api/schema'

export type ModelKey = Schemas['ModelKey']
export type ModelKeyState = Schemas['ModelKeyState']

/** The possible lifetimes of a key, in hours. */
export const MODEL_KEY_HOURS = [1, 8, 24, 168] as const

const pathOf = (id: string) => `/api/v1/app-conversations/${id}/model-key`
const keyOf = (id: string) => ['model-key', id] as const

/** Whether programs in the sandbox may call the conversation's model. Only the owner may read this. */
export function modelKeyQuery(id: string) {
  return queryOptions({
    queryKey: keyOf(id),
    queryFn: ({ signal }) => request<ModelKeyState>(pathOf(id), { signal }),
  })
}

/** Makes a key. The previous key stops working. */
export function useCreateModelKey(id: string) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (hours: number) => request<ModelKey>(pathOf(id), { method: 'POST', body: { hours } }),
    onSuccess: ({ expires_at }) => queryClient.setQueryData<ModelKeyState>(keyOf(id), { expires_at }),
  })
}

export function useRevokeModelKey(id: string) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: () => request<void>(pathOf(id), { method: 'DELETE' }),
    onSuccess: () => queryClient.setQueryData<ModelKeyState>(keyOf(id), { expires_at: null }),
  })
}
