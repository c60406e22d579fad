import { queryOptions, useMutation, useQueryClient, type QueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import { conversationKeys } from './conversation-keys'
import { ApiError } from '@/api/errors'
import type { RetryStart, StartRequest, StartTask } from '@/api/types'

const ROOT = '/api/v1/app-conversations'

export const startTaskKeys = { detail: (id: string) => ['start-tasks', id] as const }

/** The start of a conversation with its progress. The start has the same id as the conversation. */
export function startTaskQuery(id: string) {
  return queryOptions({
    queryKey: startTaskKeys.detail(id),
    queryFn: async ({ signal }) => {
      const [task] = await request<(StartTask | null)[]>(`${ROOT}/start-tasks`, {
        query: { ids: [id] },
        signal,
      })
      if (task) return task
      throw new ApiError(404, { code: 'not_found', detail: 'There is no such conversation.' })
    },
  })
}

/** Writes a StartTask from the live stream into the cache. */
export function setStartTask(queryClient: QueryClient, task: StartTask): void {
  queryClient.setQueryData(startTaskKeys.detail(task.id), task)
}

/** Starts a conversation. The reply comes at once and contains the final id. The form shows the errors. */
export function useStartConversation() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (body: StartRequest) => request<StartTask>(ROOT, { method: 'POST', body }),
    onSuccess: (task) => {
      setStartTask(queryClient, task)
      void queryClient.invalidateQueries({ queryKey: conversationKeys.lists })
    },
    meta: { errorShownInline: true },
  })
}

/** Retries a failed start from the stage that failed. Changed fields can be given. */
export function useRetryStart(id: string) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (change?: RetryStart) =>
      request<StartTask>(`${ROOT}/start-tasks/${id}/retry`, { method: 'POST', body: change }),
    onSuccess: (task) => setStartTask(queryClient, task),
    meta: { errorShownInline: true },
  })
}
