import { useMutation } from '@tanstack/react-query'
import { request } from '@/api/client'
import type { SendMessageReply, SendMessageRequest, Success } from '@/api/types'

const ROOT = '/api/v1/app-conversations'

/**
 * Sends a message to the agent. If the conversation is not READY yet, the app server keeps the message and
 * answers `queued`.
 */
export function useSendMessage(id: string) {
  return useMutation({
    mutationFn: (message: SendMessageRequest) =>
      request<SendMessageReply>(`${ROOT}/${id}/send-message`, { method: 'POST', body: message }),
    meta: { errorShownInline: true },
  })
}

/**
 * Sets the total budget of the conversation in US dollars (null means no limit). The agent continues at once.
 */
export function useRaiseBudget(id: string) {
  return useMutation({
    mutationFn: (dollars: number | null) =>
      request<Success>(`${ROOT}/${id}/budget`, {
        method: 'POST',
        body: { max_budget_per_task: dollars, run: true },
      }),
  })
}

/** Summarises older events, so that the context window of the model has space again. */
export function useCondense(id: string) {
  return useMutation({
    mutationFn: () => request<Success>(`${ROOT}/${id}/condense`, { method: 'POST' }),
  })
}

/**
 * Controls the agent. `run` continues, `pause` stops after the current step, and `interrupt` stops at once.
 */
export function useControlConversation(id: string) {
  return useMutation({
    mutationFn: (action: 'run' | 'pause' | 'interrupt') =>
      request<Success>(`${ROOT}/${id}/${action}`, { method: 'POST' }),
    meta: { isRepeatable: true },
  })
}

/** Switches the conversation to another saved model. The live stream reports when the switch is done. */
export function useSwitchProfile(id: string) {
  return useMutation({
    mutationFn: (name: string) =>
      request<Success>(`${ROOT}/${id}/switch_profile`, { method: 'POST', body: { profile_name: name } }),
  })
}
