import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import { gitChangeKeys } from '@/api/git/git-changes'
import type { CheckpointDiff, CheckpointList, RewindRequest, RewindResult } from './checkpoint-types'

const root = (id: string) => `/api/v1/app-conversations/${id}/checkpoints`
const keys = { all: (id: string) => ['checkpoints', id] as const }

// The server reads, compares and writes a whole workspace.
const TIMEOUT_MS = 300_000

/** The workspace as it was, turn by turn, oldest first. */
export function checkpointsQuery(id: string) {
  return queryOptions({
    queryKey: [...keys.all(id), 'list'],
    queryFn: ({ signal }) => request<CheckpointList>(root(id), { signal }),
    staleTime: 0,
  })
}

/** The changes to files since a checkpoint. A rewind would undo them. */
export function checkpointDiffQuery(id: string, checkpoint: number) {
  return queryOptions({
    queryKey: [...keys.all(id), 'diff', checkpoint],
    queryFn: ({ signal }) =>
      request<CheckpointDiff>(`${root(id)}/${checkpoint}/diff`, { signal, timeoutMs: TIMEOUT_MS }),
    staleTime: 0,
    // The files may have changed since.
    gcTime: 0,
  })
}

/** Goes back to a checkpoint. */
export function useRewind(id: string) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: ({ checkpoint, ...body }: RewindRequest & { checkpoint: number }) =>
      request<RewindResult>(`${root(id)}/${checkpoint}/rewind`, {
        method: 'POST',
        body,
        timeoutMs: TIMEOUT_MS,
      }),
    meta: { errorShownInline: true },
    onSettled: () => {
      void queryClient.invalidateQueries({ queryKey: keys.all(id) })
      void queryClient.invalidateQueries({ queryKey: gitChangeKeys.all(id) })
    },
  })
}
