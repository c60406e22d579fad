import { useMutation } from '@tanstack/react-query'
import { request } from '@/api/client'
import type { Schemas } from '@/api/schema'

/**
 * A model of a server. `context_window` is the largest one, in tokens. It is null if the server does not
 * report it.
 */
export type ServerModel = Schemas['ServerModel']

/** `profile` is the profile whose stored key is used if no key is given. */
export type ListModelsVariables = Schemas['ListModels']

/** Asks a server which models it has. The form shows the errors. */
export function useListModels() {
  return useMutation({
    mutationFn: (body: ListModelsVariables) =>
      request<{ models: ServerModel[] }>('/api/v1/settings/model-list', { method: 'POST', body }),
    meta: { errorShownInline: true },
  })
}
