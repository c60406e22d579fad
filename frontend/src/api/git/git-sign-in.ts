import type { Schemas } from '@/api/schema'
import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import { useChange } from '@/api/mutations'
import { GIT_PROVIDERS, gitCredentialKeys, type GitProvider } from './git-credentials'

const SIGN_INS = '/api/v1/settings/git-sign-ins'
const APPS = '/api/v1/administration/git-apps'
const HOST_TIMEOUT_MS = 60_000

/** A host that users can sign in to. */
export type SignInHost = Schemas['SignInHost']
/**
 * The code of a sign-in, the page where the user types the code, and the data for the next request to the app
 * server.
 */
export type GitDeviceCode = Schemas['GitDeviceCode']
export type GitDeviceState = Schemas['GitDeviceState']
/** A registered application. The app server never sends its secrets to a browser. */
export type GitApp = Schemas['GitAppInfo']

/** The kinds of hosts that users can sign in to. */
export const SIGN_IN_PROVIDERS = GIT_PROVIDERS

export interface GitAppInput {
  provider: GitProvider
  host: string
  client_id: string
  /** The app server never returns it. Empty means that the application has no secret. */
  client_secret: string
  /** A key as PEM. The app server never returns it. Only a GitHub App has a private key. */
  private_key: string
  /** The address of the sign-in page. Empty means the usual address. */
  sign_in_url: string
  /** The address of the API. Empty means the usual address. */
  api_url: string
  /** The scopes to ask for. Empty means the scopes that Slipway needs. */
  scopes: string
  /** Certificates as PEM. If empty, only the usual certificate authorities are trusted. */
  certificate_authorities: string
}

export const gitSignInKeys = { hosts: ['git-sign-ins'] as const, apps: ['git-apps'] as const }

export function signInHostsQuery() {
  return queryOptions({
    queryKey: gitSignInKeys.hosts,
    queryFn: ({ signal }) => request<SignInHost[]>(SIGN_INS, { signal }),
  })
}

/** The registered applications. Only administrators may read them. */
export function gitAppsQuery() {
  return queryOptions({
    queryKey: gitSignInKeys.apps,
    queryFn: ({ signal }) => request<Schemas['GitApps']>(APPS, { signal }),
  })
}

/** Returns the address that the browser must open to sign in to the host. */
export function useStartGitSignIn() {
  return useMutation({
    mutationFn: (app_id: string) =>
      request<Schemas['GitSignInStarted']>(SIGN_INS, { method: 'POST', body: { app_id } }),
    meta: { errorShownInline: true },
  })
}

/**
 * Sends the data with which the git host redirected the browser to this page. The app server accepts the data
 * only once, so the query is never repeated.
 */
export function gitSignInQuery(answer: Record<string, string>) {
  return queryOptions({
    queryKey: ['git-sign-in', answer.state],
    queryFn: () =>
      request<Schemas['GitCredentialInfo']>(`${SIGN_INS}/finish`, {
        method: 'POST',
        body: answer,
        timeoutMs: HOST_TIMEOUT_MS,
      }),
    retry: false,
    staleTime: Infinity,
  })
}

export function useStartDeviceSignIn() {
  return useMutation({
    mutationFn: (app_id: string) =>
      request<GitDeviceCode>(`${SIGN_INS}/device`, {
        method: 'POST',
        body: { app_id },
        timeoutMs: HOST_TIMEOUT_MS,
      }),
    meta: { errorShownInline: true },
  })
}

/** Asks the git host whether the user has typed the code. */
export function useAskAboutDevice() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (attempt: string) =>
      request<GitDeviceState>(`${SIGN_INS}/device/poll`, {
        method: 'POST',
        body: { attempt },
        timeoutMs: HOST_TIMEOUT_MS,
      }),
    onSuccess: ({ status }) =>
      status === 'connected' && queryClient.invalidateQueries({ queryKey: gitCredentialKeys.all }),
    meta: { errorShownInline: true },
  })
}

/** Registers an application, or replaces the application of the same host. */
export function useSaveGitApp() {
  return useChange(
    (given: GitAppInput) =>
      request<GitApp>(APPS, {
        method: 'POST',
        body: {
          ...given,
          client_secret: given.client_secret || null,
          private_key: given.private_key || null,
          sign_in_url: given.sign_in_url || null,
          api_url: given.api_url || null,
          scopes: given.scopes || null,
          certificate_authorities: given.certificate_authorities || null,
        },
      }),
    [gitSignInKeys.apps, gitSignInKeys.hosts],
    { isErrorShownInline: true },
  )
}

/** The installations of a GitHub App. The app server asks GitHub. */
export function installationsQuery(appId: string) {
  return queryOptions({
    queryKey: [...gitSignInKeys.apps, appId, 'installations'] as const,
    queryFn: ({ signal }) => request<Schemas['Installation'][]>(`${APPS}/${appId}/installations`, { signal }),
    retry: false,
  })
}

/**
 * Chooses an installation. From now on, agents of the current administrator act as the GitHub App in this
 * installation.
 */
export function useUseInstallation(appId: string) {
  return useChange(
    (id: string) =>
      request<Schemas['GitCredentialInfo']>(`${APPS}/${appId}/installations/${id}/use`, {
        method: 'POST',
        timeoutMs: HOST_TIMEOUT_MS,
      }),
    [gitCredentialKeys.all],
    { isErrorShownInline: true },
  )
}

export function useDeleteGitApp() {
  return useChange(
    (id: string) => request<unknown>(`${APPS}/${id}`, { method: 'DELETE' }),
    [gitSignInKeys.apps, gitSignInKeys.hosts],
  )
}
