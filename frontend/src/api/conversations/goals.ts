import { useMutation } from '@tanstack/react-query'
import { request } from '@/api/client'
import type { Success } from '@/api/types'

const path = (id: string) => `/api/v1/app-conversations/${id}/goal`

/**
 * Sets a goal for an agent that is not working. The agent then works until a judge finds the goal reached.
 */
export function useSetGoal(id: string) {
  return useMutation({
    mutationFn: (goal: { objective: string; max_iterations: number }) =>
      request<Success>(path(id), { method: 'POST', body: goal }),
    meta: { errorShownInline: true },
  })
}

/** Stops or resumes the work on a goal. `stop` does not stop the current turn. */
export function useControlGoal(id: string) {
  return useMutation({
    mutationFn: (action: 'stop' | 'resume') => request<Success>(`${path(id)}/${action}`, { method: 'POST' }),
  })
}
