import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import { forgetPageProof, keepPageProof } from '@/api/page-proof'
import type { components } from '@/api/schema.gen'
import type { User } from '@/api/types'

/**
 * The result of a sign-in with a link. `may_choose_password` is true for an invited person who has no
 * password yet.
 */
export type SignedInByLink = components['schemas']['SignedInByLink']

export const userKeys = { me: ['users', 'me'] as const, signOut: ['sign-out'] as const }

/** The signed-in user. The query fails with status 401 if no user is signed in. */
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

/**
 * Returns whether the user administers what all organisations share. This is so for administrators of the
 * default organisation.
 */
export function administersInstallation(user: User): boolean {
  return isAdministrator(user) && user.administers_installation === true
}

export function ownsInstallation(user: User): boolean {
  return user.role === 'owner' && administersInstallation(user)
}

/** Returns whether the user's role allows starting and steering conversations, and changing settings. */
export function mayWork({ role }: User): boolean {
  return role !== 'viewer'
}

/**
 * Exchanges the token of a one-time link for the session cookie and the page proof. The page shows the
 * errors.
 */
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
 * Ends the session and clears the cache. The result contains an address if the browser must open it to end
 * the session at the identity provider, too.
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
