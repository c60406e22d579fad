import { keepPreviousData, queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import { useAnswer } from '@/api/mutations'
import type { ConfirmationMode, ConfirmationSettings, Success } from '@/api/types'

const SETTINGS = '/api/v1/settings/confirmation'

export const confirmationKeys = { settings: ['confirmation-settings'] as const }

/** Whether agents ask before they act, unless a task says otherwise. */
export function confirmationQuery() {
  return queryOptions({
    queryKey: confirmationKeys.settings,
    queryFn: ({ signal }) => request<ConfirmationSettings>(SETTINGS, { signal }),
  })
}

export function useSetConfirmationMode() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (mode: ConfirmationMode | null) =>
      request<ConfirmationSettings>(SETTINGS, { method: 'PUT', body: { mode } }),
    onSuccess: (settings) => queryClient.setQueryData(confirmationKeys.settings, settings),
  })
}

const modePath = (id: string) => `/api/v1/app-conversations/${id}/confirmation-mode`

/** The confirmation mode of a conversation. `changeSeq`: the position of the last change in its log. */
export function conversationModeQuery(id: string, changeSeq: number) {
  return queryOptions({
    queryKey: ['conversation-mode', id, changeSeq],
    queryFn: ({ signal }) => request<{ mode: ConfirmationMode | null }>(modePath(id), { signal }),
    placeholderData: keepPreviousData,
  })
}

/** From the agent's next step on; the log tells of it. */
export function useSetConversationMode(id: string) {
  return useMutation({
    mutationFn: (mode: ConfirmationMode) =>
      request<Success>(modePath(id), { method: 'POST', body: { mode } }),
  })
}

export interface ConfirmationAnswer {
  accept: boolean
  /** The actions that the user has seen: others are not approved with them. */
  action_ids: string[]
  reason?: string
  /** Of a refusal: the steps that run all the same. */
  approved_action_ids?: string[]
  /** Do not ask about such actions again in this conversation. */
  remember?: boolean
}

/** Approves or refuses the waiting actions. After a refusal, the agent continues with the reason. */
export function useRespondToConfirmation(id: string) {
  return useAnswer<ConfirmationAnswer>(id, 'respond-to-confirmation')
}
