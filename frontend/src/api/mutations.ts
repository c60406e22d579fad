import { useMutation, useQueryClient, type QueryKey } from '@tanstack/react-query'
import { request } from './client'
import type { Success } from './types'

interface Options {
  /** True if the form that sends the request shows the errors. Then no toast shows them. */
  isErrorShownInline?: boolean
}

/** A request that changes something. After its success, the queries with the given keys are loaded again. */
export function useChange<Input, Output>(
  send: (input: Input) => Promise<Output>,
  keys: readonly QueryKey[],
  { isErrorShownInline = false }: Options = {},
) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: send,
    onSuccess: () => Promise.all(keys.map((queryKey) => queryClient.invalidateQueries({ queryKey }))),
    meta: isErrorShownInline ? { errorShownInline: true } : undefined,
  })
}

/**
 * Sends the user's answer to something that a conversation waits for. `route` is the end of the path. The
 * form shows the errors.
 */
export function useAnswer<Answer>(conversationId: string, route: string) {
  return useMutation({
    mutationFn: (answer: Answer) =>
      request<Success>(`/api/v1/app-conversations/${conversationId}/${route}`, {
        method: 'POST',
        body: answer,
      }),
    meta: { errorShownInline: true },
  })
}
