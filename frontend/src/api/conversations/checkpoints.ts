import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import { gitChangeKeys } from '@/api/git/git-changes'
import type { CheckpointDiff, CheckpointList, RewindRequest, RewindResult } from './checkpoint-types'

const root = (id: string) => `/api/v1/app-conversations/${id}/checkpoints`
const keys = { all: (id: string) => ['checkpoints', id] as const }

// The app server reads, compares and writes a whole workspace, so the request may take long.
const TIMEOUT_MS = 300_000

/** The checkpoints of the workspace, turn by turn, the oldest first. */
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
    // The files may have changed since the last load, so the result is not kept.
    gcTime: 0,
  })
}

/** Rewinds the workspace to a checkpoint. */
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
