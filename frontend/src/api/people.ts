import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from './client'
import type { Person, SignInLink } from './types'

export const peopleKeys = { all: ['people'] as const }

/** The roles that can be given. There is one owner. */
export const GIVEN_ROLES = ['admin', 'member', 'viewer'] as const
export type GivenRole = (typeof GIVEN_ROLES)[number]

export function peopleQuery() {
  return queryOptions({
    queryKey: peopleKeys.all,
    queryFn: ({ signal }) => request<Person[]>('/api/v1/people', { signal }),
  })
}

/** Makes an account. The form shows the errors. */
export function useInvitePerson() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (wanted: { name: string; role: GivenRole }) =>
      request<{ person: Person; sign_in_link: SignInLink }>('/api/v1/people', {
        method: 'POST',
        body: wanted,
      }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: peopleKeys.all }),
    meta: { errorShownInline: true },
  })
}

export function useChangePerson() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: ({ id, ...change }: { id: string; role?: GivenRole; is_disabled?: boolean }) =>
      request<Person>(`/api/v1/people/${id}`, { method: 'PATCH', body: change }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: peopleKeys.all }),
  })
}

/** For a person who has lost the authenticator app. */
export function useResetTotp() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (id: string) => request<void>(`/api/v1/people/${id}/totp`, { method: 'DELETE' }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: peopleKeys.all }),
  })
}

export function useCreateSignInLink() {
  return useMutation({
    mutationFn: (id: string) => request<SignInLink>(`/api/v1/people/${id}/sign-in-link`, { method: 'POST' }),
  })
}
