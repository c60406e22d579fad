import type { Schemas } from '@/api/schema'
import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import { useChange } from '@/api/mutations'

const ROOT = '/api/v1/settings/git-credentials'

/** The branches that agents may push to: only the branches that their conversation made, or any branch. */
export const PUSH_SCOPES = ['own', 'any'] as const
export type PushScope = (typeof PUSH_SCOPES)[number]

/** A token for a git host. The app server never sends the token to a browser. */
export type GitCredential = Schemas['GitCredentialInfo']

/** The kinds of git hosts, in the order in which they are offered. */
export const GIT_PROVIDERS = [
  'github',
  'gitlab',
  'bitbucket',
  'bitbucket_data_center',
  'azure_devops',
  'forgejo',
] as const
export type GitProvider = (typeof GIT_PROVIDERS)[number]

/** The usual host of each provider. Bitbucket Data Center has no usual host. */
export const USUAL_HOSTS: Record<GitProvider, string> = {
  github: 'github.com',
  gitlab: 'gitlab.com',
  bitbucket: 'bitbucket.org',
  bitbucket_data_center: '',
  azure_devops: 'dev.azure.com',
  forgejo: 'codeberg.org',
}

export interface GitCredentialInput {
  provider: GitProvider
  host: string
  /** The address of the host's API. Empty means the usual address of this provider. */
  api_url: string
  /** Certificates as PEM. If empty, only the usual certificate authorities are trusted. */
  certificate_authorities: string
  /** The token. The app server never returns it. */
  token: string
  /** The user name for the token. Empty means the name that most hosts expect. */
  username: string
  push_scope: PushScope
}

export const gitCredentialKeys = { all: ['git-credentials'] as const }

export type RateLimit = Schemas['RateLimit']

/**
 * The account at the git host that a stored token belongs to. The app server asks the host. A change of
 * `version` repeats the request.
 */
export function hostUserQuery(host: string, version: string) {
  return queryOptions({
    queryKey: [...gitCredentialKeys.all, 'user', host, version] as const,
    queryFn: ({ signal }) =>
      request<Schemas['UserGitInfo']>(`/api/v1/users/git-info?host=${encodeURIComponent(host)}`, { signal }),
    staleTime: 5 * 60_000,
    retry: false,
  })
}

/** The stored connections to git hosts. They do not contain the tokens. */
export function gitCredentialsQuery() {
  return queryOptions({
    queryKey: gitCredentialKeys.all,
    queryFn: ({ signal }) => request<GitCredential[]>(ROOT, { signal }),
  })
}

/** Adds a token, or replaces the token of the same host. The form shows the errors. */
export function useSaveGitCredential() {
  return useChange(
    (given: GitCredentialInput) =>
      request<GitCredential>(ROOT, {
        method: 'POST',
        body: {
          ...given,
          api_url: given.api_url || null,
          certificate_authorities: given.certificate_authorities || null,
        },
      }),
    [gitCredentialKeys.all],
    { isErrorShownInline: true },
  )
}

/** Changes the certificate authorities of a stored connection. An empty text removes them. */
export function useChangeAuthorities() {
  return useChange(
    ({ id, certificate_authorities }: { id: string; certificate_authorities: string }) =>
      request<GitCredential>(`${ROOT}/${id}`, { method: 'PATCH', body: { certificate_authorities } }),
    [gitCredentialKeys.all],
    { isErrorShownInline: true },
  )
}

export function useChangePushScope() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: ({ id, push_scope }: Pick<GitCredential, 'id' | 'push_scope'>) =>
      request<GitCredential>(`${ROOT}/${id}`, { method: 'PATCH', body: { push_scope } }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: gitCredentialKeys.all }),
  })
}

export function useDeleteGitCredential() {
  return useChange(
    (id: string) => request<unknown>(`${ROOT}/${id}`, { method: 'DELETE' }),
    [gitCredentialKeys.all],
  )
}
