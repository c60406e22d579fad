import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import type { WebSession } from '@/api/types'

export const webSessionKeys = { all: ['web-sessions'] as const }

/** The browsers in which the user is signed in, the newest first. */
export function webSessionsQuery() {
  return queryOptions({
    queryKey: webSessionKeys.all,
    queryFn: ({ signal }) => request<WebSession[]>('/api/v1/web-sessions', { signal }),
  })
}

/** Names a browser. Null removes the name. The dialog shows the errors. */
export function useNameWebSession() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: ({ id, name }: { id: string; name: string | null }) =>
      request<WebSession>(`/api/v1/web-sessions/${id}`, { method: 'PATCH', body: { name } }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: webSessionKeys.all }),
    meta: { errorShownInline: true },
  })
}

/** Signs out the browser with this id. Without an id, signs out all other browsers. */
export function useEndWebSessions() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (which: { id: string } | 'others') =>
      request<unknown>(which === 'others' ? '/api/v1/web-sessions' : `/api/v1/web-sessions/${which.id}`, {
        method: 'DELETE',
      }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: webSessionKeys.all }),
  })
}
