import { keepPreviousData, queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import { useAnswer } from '@/api/mutations'
import type { ConfirmationMode, ConfirmationSettings, Success } from '@/api/types'

const SETTINGS = '/api/v1/settings/confirmation'

export const confirmationKeys = { settings: ['confirmation-settings'] as const }

/**
 * The default confirmation mode: whether agents ask the user before they act. A task can have another mode.
 */
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

/**
 * The confirmation mode of a conversation. `changeSeq` is the position of the last change of the mode in the
 * log.
 */
export function conversationModeQuery(id: string, changeSeq: number) {
  return queryOptions({
    queryKey: ['conversation-mode', id, changeSeq],
    queryFn: ({ signal }) => request<{ mode: ConfirmationMode | null }>(modePath(id), { signal }),
    placeholderData: keepPreviousData,
  })
}

/**
 * Sets the confirmation mode of a conversation. The mode applies from the agent's next step. The log reports
 * the change.
 */
export function useSetConversationMode(id: string) {
  return useMutation({
    mutationFn: (mode: ConfirmationMode) =>
      request<Success>(modePath(id), { method: 'POST', body: { mode } }),
  })
}

export interface ConfirmationAnswer {
  accept: boolean
  /** The actions that the user has seen. The answer applies to these actions only. */
  action_ids: string[]
  reason?: string
  /** For a refusal: the actions that run although the other actions are refused. */
  approved_action_ids?: string[]
  /** If true, the agent does not ask about such actions again in this conversation. */
  remember?: boolean
}

/** Approves or refuses the waiting actions. After a refusal, the agent continues with the reason. */
export function useRespondToConfirmation(id: string) {
  return useAnswer<ConfirmationAnswer>(id, 'respond-to-confirmation')
}
