import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { fileNameOf, saveFile } from '@/lib/browser/save-file'
import { request, requestBlob } from '@/api/client'
import { peopleKeys } from './people'
import type { components } from '@/api/schema.gen'
import type { Person } from '@/api/types'

export type Belongings = components['schemas']['Belongings']
export type DeletePerson = components['schemas']['DeletePerson']
/** The decision about belongings: hand them over to another person, or delete them with their owner. */
export type BelongingsDecision = components['schemas']['Fate']

const EXPORT_TIMEOUT_MS = 600_000

/** The number of belongings of a person, by kind. */
export function belongingsQuery(id: string) {
  return queryOptions({
    queryKey: [...peopleKeys.all, id, 'belongings'] as const,
    queryFn: ({ signal }) => request<Belongings>(`/api/v1/people/${id}/belongings`, { signal }),
    staleTime: 0,
  })
}

/** Starts the deletion of a person. The dialog shows the errors. */
export function useDeletePerson(id: string) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (body: DeletePerson) =>
      request<Person>(`/api/v1/people/${id}/deletion`, { method: 'POST', body }),
    // The reload is not awaited, because the new list removes the row together with its dialog.
    onSuccess: () => {
      void queryClient.invalidateQueries({ queryKey: peopleKeys.all })
    },
    meta: { errorShownInline: true },
  })
}

/** Saves all stored data about a person as a zip file. */
export function useExportPerson({ id, name }: Person) {
  return useMutation({
    mutationFn: () => requestBlob(`/api/v1/people/${id}/export`, { timeoutMs: EXPORT_TIMEOUT_MS }),
    onSuccess: (content) => saveFile(content, `${fileNameOf(name)}.zip`),
  })
}
