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
/** The code, the page where the user types it, and the data for the next question to the server. */
export type GitDeviceCode = Schemas['GitDeviceCode']
export type GitDeviceState = Schemas['GitDeviceState']
/** A registered application. Its secrets are never sent to a browser. */
export type GitApp = Schemas['GitAppInfo']

/** The kinds of hosts that users can sign in to. */
export const SIGN_IN_PROVIDERS = GIT_PROVIDERS

export interface GitAppInput {
  provider: GitProvider
  host: string
  client_id: string
  /** Write-only. Empty: the application has none. */
  client_secret: string
  /** Write-only, PEM. Only a GitHub App has one. */
  private_key: string
  /** Empty: the usual address. */
  sign_in_url: string
  /** Empty: the usual address. */
  api_url: string
  /** Empty: the scopes that are needed. */
  scopes: string
  /** Certificates as PEM. Empty: only the usual authorities vouch for the host. */
  certificate_authorities: string
}

export const gitSignInKeys = { hosts: ['git-sign-ins'] as const, apps: ['git-apps'] as const }

export function signInHostsQuery() {
  return queryOptions({
    queryKey: gitSignInKeys.hosts,
    queryFn: ({ signal }) => request<SignInHost[]>(SIGN_INS, { signal }),
  })
}

/** Only administrators may ask. */
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

/** Hands in what the browser was sent back with. It counts once, so it is asked for once. */
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

/** Asks whether the code was typed at the host. */
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

/** Registers an application, or replaces the one of the same host. */
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

/** The installations of a GitHub App. Asks the host. */
export function installationsQuery(appId: string) {
  return queryOptions({
    queryKey: [...gitSignInKeys.apps, appId, 'installations'] as const,
    queryFn: ({ signal }) => request<Schemas['Installation'][]>(`${APPS}/${appId}/installations`, { signal }),
    retry: false,
  })
}

/** From now on, agents of the current administrator act as the GitHub App in this installation. */
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
