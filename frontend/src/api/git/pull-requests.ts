import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import type { Schemas } from '@/api/schema'

export type PullRequest = Schemas['PullRequestInfo']
export type PullRequestProposal = Schemas['PullRequestProposal']
export type NewPullRequest = Schemas['CreatePullRequest']

/** How often an open pull request is looked at while the page is open. The server asks the host. */
const POLL_MS = 30_000

const rootOf = (id: string) => `/api/v1/app-conversations/${id}/pull-requests`
const keyOf = (id: string) => ['pull-requests', id] as const

/** The newest first. Asked again only while one of them is open. */
export function pullRequestsQuery(id: string) {
  return queryOptions({
    queryKey: keyOf(id),
    queryFn: ({ signal }) => request<PullRequest[]>(rootOf(id), { signal }),
    // The git host tells the server of no change: the server asks it when this is asked.
    refetchInterval: ({ state }) => (state.data?.some((one) => one.state === 'open') ? POLL_MS : false),
  })
}

/** A draft made from the work; it is new each time. `repository`: a directory; null for the first one. */
export function proposalQuery(id: string, repository: string | null) {
  return queryOptions({
    queryKey: [...keyOf(id), 'proposal', repository] as const,
    queryFn: ({ signal }) =>
      request<PullRequestProposal>(`${rootOf(id)}/proposal`, {
        signal,
        query: repository ? { repository } : undefined,
      }),
    gcTime: 0,
    staleTime: Infinity,
    retry: false,
  })
}

/** Commits, pushes and opens it. The dialog shows the errors. */
export function useCreatePullRequest(id: string) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (given: NewPullRequest) =>
      request<Schemas['CreatedPullRequest']>(rootOf(id), { method: 'POST', body: given }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: keyOf(id) }),
    meta: { errorShownInline: true },
  })
}

function replaceIn(known: PullRequest[] | undefined, changed: PullRequest) {
  return known?.map((one) => (one.id === changed.id ? changed : one))
}

/** Asks the host now. */
export function useRefreshPullRequest(id: string) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (pullRequestId: string) =>
      request<PullRequest>(`${rootOf(id)}/${pullRequestId}/refresh`, { method: 'POST' }),
    onSuccess: (changed) =>
      queryClient.setQueryData<PullRequest[]>(keyOf(id), (known) => replaceIn(known, changed)),
  })
}

/** Marks a draft as ready for review. */
export function useMarkReady(id: string) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (pullRequestId: string) =>
      request<PullRequest>(`${rootOf(id)}/${pullRequestId}`, { method: 'PATCH', body: { draft: false } }),
    onSuccess: (changed) =>
      queryClient.setQueryData<PullRequest[]>(keyOf(id), (known) => replaceIn(known, changed)),
  })
}

/** Sends the open review comments, or the failing checks, to the agent. */
export function useAskAgent(id: string) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: ({
      pullRequestId,
      about,
    }: {
      pullRequestId: string
      about: 'address-review' | 'fix-checks'
    }) => request<Schemas['AgentAsked']>(`${rootOf(id)}/${pullRequestId}/${about}`, { method: 'POST' }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: keyOf(id) }),
  })
}
