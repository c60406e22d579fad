import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import type { MemoryNote, MemoryNoteSummary, MemoryProposal } from './memory-types'

export const memoryKeys = {
  all: ['memory'] as const,
  list: ['memory', 'list'] as const,
  proposals: ['memory', 'proposals'] as const,
  note: (id: string) => ['memory', 'note', id] as const,
}

const path = (id: string) => `/api/v1/memory/${encodeURIComponent(id)}`

/** The notes that agents propose. Conversations get a note only after a user has accepted it. */
export function memoryProposalsQuery() {
  return queryOptions({
    queryKey: memoryKeys.proposals,
    queryFn: ({ signal }) => request<MemoryProposal[]>('/api/v1/memory-proposals', { signal }),
  })
}

/**
 * Accepts or refuses a proposed note. If the agent has replaced the proposal since, the answer has no effect,
 * and the list shows the new proposal.
 */
export function useAnswerMemoryProposal() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: ({ id, answer }: { id: string; answer: 'accept' | 'reject' }) =>
      request<unknown>(`/api/v1/memory-proposals/${encodeURIComponent(id)}/${answer}`, { method: 'POST' }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: memoryKeys.all }),
  })
}

/** The notes for later conversations, sorted by repository and name, without their texts. */
export function memoryNotesQuery() {
  return queryOptions({
    queryKey: memoryKeys.list,
    queryFn: ({ signal }) => request<MemoryNoteSummary[]>('/api/v1/memory', { signal }),
  })
}

export function memoryNoteQuery(id: string) {
  return queryOptions({
    queryKey: memoryKeys.note(id),
    queryFn: ({ signal }) => request<MemoryNote>(path(id), { signal }),
    // A form must begin with the text that is stored now, and not with an old copy from the cache.
    gcTime: 0,
  })
}

/** Changes a note. The form shows the errors. */
export function useUpdateMemoryNote() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: ({ id, ...body }: { id: string; title: string; text: string }) =>
      request<MemoryNote>(path(id), { method: 'PATCH', body }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: memoryKeys.all }),
    meta: { errorShownInline: true },
  })
}

export function useDeleteMemoryNote() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (id: string) => request<unknown>(path(id), { method: 'DELETE' }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: memoryKeys.list }),
  })
}
