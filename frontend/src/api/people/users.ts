import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import { forgetPageProof, keepPageProof } from '@/api/page-proof'
import type { components } from '@/api/schema.gen'
import type { User } from '@/api/types'

/** `may_choose_password`: an invited person who has no password yet. */
export type SignedInByLink = components['schemas']['SignedInByLink']

export const userKeys = { me: ['users', 'me'] as const, signOut: ['sign-out'] as const }

/** Who is signed in. Fails with status 401 when no user is. */
export function currentUserQuery() {
  return queryOptions({
    queryKey: userKeys.me,
    queryFn: ({ signal }) => request<User>('/api/v1/users/me', { signal }),
    staleTime: 5 * 60_000,
  })
}

export function isAdministrator({ role }: User): boolean {
  return role === 'owner' || role === 'admin'
}

/** Whether they administer what all organisations share: they are an administrator of the default one. */
export function administersInstallation(user: User): boolean {
  return isAdministrator(user) && user.administers_installation === true
}

export function ownsInstallation(user: User): boolean {
  return user.role === 'owner' && administersInstallation(user)
}

/** Whether the role lets them start and steer conversations, and change settings. */
export function mayWork({ role }: User): boolean {
  return role !== 'viewer'
}

/** Trades a one-time link token for the session cookie and the proof that goes with it. Its errors are shown on the page. */
export function useSignIn() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (token: string) =>
      request<SignedInByLink>('/api/v1/sign-in/link', { method: 'POST', body: { token } }),
    onSuccess: ({ page_proof, id, name, role, administers_installation }) => {
      keepPageProof(page_proof)
      queryClient.setQueryData<User>(userKeys.me, { id, name, role, administers_installation })
    },
    meta: { errorShownInline: true },
  })
}

type SignOutGoesOn = components['schemas']['SignOutGoesOn']

/**
 * Ends the session and forgets everything the browser had cached. The result has an address if the browser
 * must go there, so that the session at the provider ends, too.
 */
export function useSignOut() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationKey: userKeys.signOut,
    mutationFn: () => request<SignOutGoesOn | undefined>('/api/v1/sign-in/session', { method: 'DELETE' }),
    onSuccess: () => {
      forgetPageProof()
      queryClient.clear()
    },
  })
}
