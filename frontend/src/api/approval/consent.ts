import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import type { Consent, ConversationConsent } from './executables'
import type { Success } from '@/api/types'

const consentsKey = ['consents'] as const

const path = (conversationId: string) =>
  `/api/v1/app-conversations/${encodeURIComponent(conversationId)}/consent`

/** The executables of a conversation's repositories in their present versions, with the user's decisions. */
export function conversationConsentQuery(conversationId: string) {
  return queryOptions({
    queryKey: ['conversation-consent', conversationId],
    queryFn: ({ signal }) => request<ConversationConsent>(path(conversationId), { signal }),
  })
}

export interface ConsentAnswer {
  allow?: string[]
  refuse?: string[]
  /**
   * The directory of the repository. If it is left out, the answer applies to all repositories that have this
   * executable.
   */
  repository?: string
}

/**
 * Sends the user's decisions. The hashes identify the executables that the user has seen. The panel shows the
 * errors.
 */
export function useAnswerConsent(conversationId: string) {
  const queryClient = useQueryClient()
  const { queryKey } = conversationConsentQuery(conversationId)
  return useMutation({
    mutationFn: (body: ConsentAnswer) =>
      request<ConversationConsent>(path(conversationId), { method: 'POST', body }),
    onSuccess: (answered) => queryClient.setQueryData(queryKey, answered),
    onError: () => queryClient.invalidateQueries({ queryKey }),
    meta: { errorShownInline: true },
  })
}

/** `repository` is the directory of the repository. If it is left out, the first repository is meant. */
export interface SetupScript {
  hash: string
  repository?: string
}

/** Runs an allowed set-up script again. The stage of the start shows the progress. */
export function useRunSetupScript(conversationId: string) {
  return useMutation({
    mutationFn: (body: SetupScript) =>
      request<Success>(`/api/v1/app-conversations/${encodeURIComponent(conversationId)}/run-setup-script`, {
        method: 'POST',
        body,
      }),
    meta: { errorShownInline: true },
  })
}

/** The user's decisions about the executables of repositories, by repository. */
export function consentsQuery() {
  return queryOptions({
    queryKey: consentsKey,
    queryFn: ({ signal }) => request<Consent[]>('/api/v1/consents', { signal }),
  })
}

export function useRevokeConsent() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (id: string) =>
      request<unknown>(`/api/v1/consents/${encodeURIComponent(id)}`, { method: 'DELETE' }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: consentsKey }),
  })
}
