import { queryOptions } from '@tanstack/react-query'
import { request } from '@/api/client'
import type { KnownSkills } from '@/api/types'

/** The skills of a conversation's agent. They do not change during the conversation. */
export function skillsQuery(conversationId: string) {
  return queryOptions({
    queryKey: ['skills', conversationId],
    queryFn: ({ signal }) =>
      request<KnownSkills>(`/api/v1/app-conversations/${encodeURIComponent(conversationId)}/skills`, {
        signal,
      }),
    staleTime: Infinity,
  })
}
