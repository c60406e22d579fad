import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import type { Schemas } from '@/api/schema'

export type PullRequest = Schemas['PullRequestInfo']
export type PullRequestProposal = Schemas['PullRequestProposal']
export type NewPullRequest = Schemas['CreatePullRequest']

/**
 * The interval at which an open pull request is loaded again while the page is open. The app server asks the
 * host each time.
 */
const POLL_MS = 30_000

const rootOf = (id: string) => `/api/v1/app-conversations/${id}/pull-requests`
const keyOf = (id: string) => ['pull-requests', id] as const

/**
 * The pull requests of a conversation, the newest first. They are loaded again only while one of them is
 * open.
 */
export function pullRequestsQuery(id: string) {
  return queryOptions({
    queryKey: keyOf(id),
    queryFn: ({ signal }) => request<PullRequest[]>(rootOf(id), { signal }),
    // The git host does not report changes to the app server. The app server asks the host at each request.
    refetchInterval: ({ state }) => (state.data?.some((one) => one.state === 'open') ? POLL_MS : false),
  })
}

/**
 * A proposed title and text of a pull request, made from the work. It is made anew for each request.
 * `repository` is a directory, or null for the first repository.
 */
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

/** Commits and pushes the work, and opens the pull request. The dialog shows the errors. */
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

/** Asks the git host for the present state of the pull request. */
export function useRefreshPullRequest(id: string) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (pullRequestId: string) =>
      request<PullRequest>(`${rootOf(id)}/${pullRequestId}/refresh`, { method: 'POST' }),
    onSuccess: (changed) =>
      queryClient.setQueryData<PullRequest[]>(keyOf(id), (known) => replaceIn(known, changed)),
  })
}

/** Marks a draft pull request as ready for review. */
export function useMarkReady(id: string) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (pullRequestId: string) =>
      request<PullRequest>(`${rootOf(id)}/${pullRequestId}`, { method: 'PATCH', body: { draft: false } }),
    onSuccess: (changed) =>
      queryClient.setQueryData<PullRequest[]>(keyOf(id), (known) => replaceIn(known, changed)),
  })
}

/** Sends the unresolved review comments, or the failed checks, to the agent. */
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
