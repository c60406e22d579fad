import { useMutation } from '@tanstack/react-query'
import { request } from '@/api/client'

export interface ServerModel {
  id: string
  /** The longest one, in tokens; null = the server does not say. */
  context_window: number | null
}

export interface ListModelsVariables {
  base_url: string
  api_key?: string
  /** Whose stored key is used where none is given. */
  profile?: string
}

/** Asks a server which models it has. The form shows the errors. */
export function useListModels() {
  return useMutation({
    mutationFn: (body: ListModelsVariables) =>
      request<{ models: ServerModel[] }>('/api/v1/settings/model-list', { method: 'POST', body }),
    meta: { errorShownInline: true },
  })
}
