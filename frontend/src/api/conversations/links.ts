import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import type { components } from '@/api/schema.gen'

export type LinkInfo = components['schemas']['ConversationLinkInfo']
export type CreatedLink = components['schemas']['CreatedConversationLink']
export type LinkedConversation = components['schemas']['LinkedConversation']

export interface LinkRequest {
  name: string
  hours: number
  confirmed_findings: string[]
}

const SCAN_TIMEOUT_MS = 120_000

const rootOf = (id: string) => `/api/v1/app-conversations/${id}/links`
const keyOf = (id: string) => ['links', id] as const

/** The read-only links of a conversation. Only its owner may read them. */
export function linksQuery(id: string) {
  return queryOptions({
    queryKey: keyOf(id),
    queryFn: ({ signal }) => request<LinkInfo[]>(rootOf(id), { signal }),
  })
}

/**
 * Makes a read-only link. Fails with `findings` until the user has confirmed the secrets in the conversation.
 */
export function useCreateLink(id: string) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (body: LinkRequest) =>
      request<CreatedLink>(rootOf(id), { method: 'POST', body, timeoutMs: SCAN_TIMEOUT_MS }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: keyOf(id) }),
    meta: { errorShownInline: true },
  })
}

export function useRemoveLink(id: string) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (linkId: string) => request<undefined>(`${rootOf(id)}/${linkId}`, { method: 'DELETE' }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: keyOf(id) }),
  })
}

/** The conversation of a read-only link. Everyone who has the link's token can read it. */
export function linkedConversationQuery(token: string) {
  return queryOptions({
    queryKey: ['linked-conversation', token] as const,
    queryFn: ({ signal }) =>
      request<LinkedConversation>('/api/v1/linked-conversation', {
        headers: { 'X-Link-Token': token },
        signal,
      }),
    enabled: token !== '',
  })
}
