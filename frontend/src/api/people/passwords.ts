import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import { keepPageProof } from '@/api/page-proof'
import type { components } from '@/api/schema.gen'
import type { SignedInUser, User } from '@/api/types'
import { userKeys } from './users'
import { webSessionKeys } from './web-sessions'

/** The user's login name, and whether the user has a password and an authenticator app. */
export type PasswordSettings = components['schemas']['PasswordSettings']

/** A secret for an authenticator app, as text and as a picture. */
export type TotpEnrolment = components['schemas']['TotpEnrolment']

export type NewPassword = components['schemas']['SetPassword']

type RecoveryCodes = components['schemas']['RecoveryCodes']

export const passwordKeys = { all: ['password'] as const }

export function passwordSettingsQuery() {
  return queryOptions({
    queryKey: passwordKeys.all,
    queryFn: ({ signal }) => request<PasswordSettings>('/api/v1/password', { signal }),
  })
}

/**
 * Signs in with a password. The form shows the errors. The error `totp_code_needed` makes the form ask for a
 * code.
 */
export function useSignInWithPassword() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (body: components['schemas']['SignInWithPassword']) =>
      request<SignedInUser>('/api/v1/sign-in/password', { method: 'POST', body }),
    onSuccess: ({ page_proof, ...user }) => {
      keepPageProof(page_proof)
      queryClient.setQueryData<User>(userKeys.me, user)
    },
    meta: { errorShownInline: true },
  })
}

/** Sets or changes the password. A change signs the user out in all other browsers. */
export function useSetPassword() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (body: NewPassword) => request<void>('/api/v1/password', { method: 'PUT', body }),
    onSuccess: () =>
      Promise.all([
        queryClient.invalidateQueries({ queryKey: passwordKeys.all }),
        queryClient.invalidateQueries({ queryKey: webSessionKeys.all }),
      ]),
    meta: { errorShownInline: true },
  })
}

/** A change of the user's password settings. The dialog shows the errors. */
function useChange<Body, Answer>(path: string) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (body: Body) => request<Answer>(path, { method: 'POST', body }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: passwordKeys.all }),
    meta: { errorShownInline: true },
  })
}

export const useRemovePassword = () =>
  useChange<{ current_password: string }, void>('/api/v1/password/removal')
export const useBeginTotp = () => useChange<{ current_password: string }, TotpEnrolment>('/api/v1/totp')
export const useConfirmTotp = () => useChange<{ code: string }, RecoveryCodes>('/api/v1/totp/confirmation')
export const useRenewRecoveryCodes = () =>
  useChange<{ code: string }, RecoveryCodes>('/api/v1/totp/recovery-codes')
export const useRemoveTotp = () => useChange<{ code: string }, void>('/api/v1/totp/removal')
