import type { Schemas } from '@/api/schema'
import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import { useChange } from '@/api/mutations'

const ROOT = '/api/v1/settings/git-credentials'

/** Which branches agents may push to: those that their conversation made, or any. */
export const PUSH_SCOPES = ['own', 'any'] as const
export type PushScope = (typeof PUSH_SCOPES)[number]

/** A token for a git host. It is never sent to a browser. */
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

/** The host that most users of a provider have. Bitbucket Data Center has none. */
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
  /** Empty: where hosts of this provider have their API. */
  api_url: string
  /** Certificates as PEM. Empty: only the usual authorities vouch for the host. */
  certificate_authorities: string
  /** Write-only. */
  token: string
  /** Empty: what most hosts take beside a token. */
  username: string
  push_scope: PushScope
}

export const gitCredentialKeys = { all: ['git-credentials'] as const }

export type RateLimit = Schemas['RateLimit']

/** The user of the host that a stored token belongs to. Asks the host. A change of `version` asks again. */
export function hostUserQuery(host: string, version: string) {
  return queryOptions({
    queryKey: [...gitCredentialKeys.all, 'user', host, version] as const,
    queryFn: ({ signal }) =>
      request<Schemas['UserGitInfo']>(`/api/v1/users/git-info?host=${encodeURIComponent(host)}`, { signal }),
    staleTime: 5 * 60_000,
    retry: false,
  })
}

/** Hosts only: tokens never come back. */
export function gitCredentialsQuery() {
  return queryOptions({
    queryKey: gitCredentialKeys.all,
    queryFn: ({ signal }) => request<GitCredential[]>(ROOT, { signal }),
  })
}

/** Adds a token, or replaces the one of the same host. The form shows the errors. */
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

/** Changes the certificate authorities of a stored connection. Empty removes them. */
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
