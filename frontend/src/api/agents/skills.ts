import { queryOptions } from '@tanstack/react-query'
import { request } from '@/api/client'
import type { KnownSkills } from '@/api/types'

/** What the agent of a conversation knows. It was settled when the conversation began. */
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
