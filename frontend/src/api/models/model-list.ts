import { useMutation } from '@tanstack/react-query'
import { request } from '@/api/client'
import type { Schemas } from '@/api/schema'

/** `context_window`: the longest one, in tokens; null: the server does not say. */
export type ServerModel = Schemas['ServerModel']

/** `profile`: whose stored key is used where none is given. */
export type ListModelsVariables = Schemas['ListModels']

/** Asks a server which models it has. The form shows the errors. */
export function useListModels() {
  return useMutation({
    mutationFn: (body: ListModelsVariables) =>
      request<{ models: ServerModel[] }>('/api/v1/settings/model-list', { method: 'POST', body }),
    meta: { errorShownInline: true },
  })
}
