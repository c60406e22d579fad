import type { Schemas } from '@/api/schema'
import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'

const ROOT = '/api/v1/settings'

export type CommitTrailer = Schemas['CommitTrailer']

/** The author of agents' commits (null or empty means Slipway), and the line at the end of these commits. */
export type CommitIdentity = Pick<
  Schemas['SettingsInfo'],
  'git_user_name' | 'git_user_email' | 'commit_trailer' | 'commit_trailers'
>

export const commitIdentityKeys = { all: ['commit-identity'] as const }

export function commitIdentityQuery() {
  return queryOptions({
    queryKey: commitIdentityKeys.all,
    queryFn: async ({ signal }): Promise<CommitIdentity> => {
      const { git_user_name, git_user_email, commit_trailer, commit_trailers } =
        await request<CommitIdentity>(ROOT, { signal })
      return { git_user_name, git_user_email, commit_trailer, commit_trailers }
    },
  })
}

/** Saves the identity. It applies to conversations that start later. The form shows the errors. */
export function useSaveCommitIdentity() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (identity: Partial<CommitIdentity>) =>
      request<unknown>(ROOT, { method: 'POST', body: identity }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: commitIdentityKeys.all }),
    meta: { errorShownInline: true },
  })
}
