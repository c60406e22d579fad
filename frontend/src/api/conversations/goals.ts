import { useMutation } from '@tanstack/react-query'
import { request } from '@/api/client'
import type { Success } from '@/api/types'

const path = (id: string) => `/api/v1/app-conversations/${id}/goal`

/** Has an agent that rests work until a judge finds the objective reached. */
export function useSetGoal(id: string) {
  return useMutation({
    mutationFn: (goal: { objective: string; max_iterations: number }) =>
      request<Success>(path(id), { method: 'POST', body: goal }),
    meta: { errorShownInline: true },
  })
}

/** `stop` ends the pursuit, not the turn that is going on; `resume` takes it up again. */
export function useControlGoal(id: string) {
  return useMutation({
    mutationFn: (action: 'stop' | 'resume') => request<Success>(`${path(id)}/${action}`, { method: 'POST' }),
  })
}
