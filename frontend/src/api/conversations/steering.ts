import { useMutation } from '@tanstack/react-query'
import { request } from '@/api/client'
import type { SendMessageReply, SendMessageRequest, Success } from '@/api/types'

const ROOT = '/api/v1/app-conversations'

/** Sends a message; before the conversation is READY the server keeps it and answers `queued`. */
export function useSendMessage(id: string) {
  return useMutation({
    mutationFn: (message: SendMessageRequest) =>
      request<SendMessageReply>(`${ROOT}/${id}/send-message`, { method: 'POST', body: message }),
    meta: { errorShownInline: true },
  })
}

/** Sets the total budget of the conversation in US dollars (null: no limit). The agent continues at once. */
export function useRaiseBudget(id: string) {
  return useMutation({
    mutationFn: (dollars: number | null) =>
      request<Success>(`${ROOT}/${id}/budget`, {
        method: 'POST',
        body: { max_budget_per_task: dollars, run: true },
      }),
  })
}

/** Has older events summed up, so that the model's window has room again. */
export function useCondense(id: string) {
  return useMutation({
    mutationFn: () => request<Success>(`${ROOT}/${id}/condense`, { method: 'POST' }),
  })
}

/** `run` goes on, `pause` stops after the current step, `interrupt` stops now. */
export function useControlConversation(id: string) {
  return useMutation({
    mutationFn: (action: 'run' | 'pause' | 'interrupt') =>
      request<Success>(`${ROOT}/${id}/${action}`, { method: 'POST' }),
    meta: { isRepeatable: true },
  })
}

/** Has another saved model take over. The live stream tells when it has. */
export function useSwitchProfile(id: string) {
  return useMutation({
    mutationFn: (name: string) =>
      request<Success>(`${ROOT}/${id}/switch_profile`, { method: 'POST', body: { profile_name: name } }),
  })
}
