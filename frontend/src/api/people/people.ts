import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import type { NewApiKey } from './api-keys'
import type { ApiKey, CreatedApiKey, Person, SignInLink } from '@/api/types'

export const peopleKeys = { all: ['people'] as const }

/**
 * The roles that can be assigned. The role of the owner is not among them, because there is only one owner.
 */
export const ASSIGNABLE_ROLES = ['admin', 'member', 'viewer'] as const
export type AssignableRole = (typeof ASSIGNABLE_ROLES)[number]

export function peopleQuery() {
  return queryOptions({
    queryKey: peopleKeys.all,
    queryFn: ({ signal }) => request<Person[]>('/api/v1/people', { signal }),
    // The state of an invitation by e-mail changes without an event for this page, so the page loads the list
    // repeatedly.
    refetchInterval: ({ state }) => (state.data?.some(isMailWaiting) ? MAIL_REFETCH_MS : false),
  })
}

const MAIL_REFETCH_MS = 3000
const isMailWaiting = ({ invitation_mail: mail }: Person) => mail?.state === 'waiting'

interface Invitation {
  person: Person
  /** The sign-in link of the new person. Null if the app server sends the link by e-mail. */
  sign_in_link: SignInLink | null
}

/**
 * Creates an account. The reply has a sign-in link, except for service accounts and if the app server sends
 * the link by e-mail. The form shows the errors.
 */
export function useInvitePerson() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: async ({
      is_service,
      email,
      ...body
    }: {
      name: string
      role: AssignableRole
      is_service: boolean
      email?: string
    }): Promise<{ name: string; link: SignInLink | null }> => {
      if (is_service) {
        const account = await request<Person>('/api/v1/people/service-accounts', { method: 'POST', body })
        return { name: account.name, link: null }
      }
      const invited = await request<Invitation>('/api/v1/people', {
        method: 'POST',
        body: { ...body, ...(email && { email }) },
      })
      return { name: invited.person.name, link: invited.sign_in_link }
    },
    onSuccess: () => queryClient.invalidateQueries({ queryKey: peopleKeys.all }),
    meta: { errorShownInline: true },
  })
}

export function useChangePerson() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: ({ id, ...change }: { id: string; role?: AssignableRole; is_disabled?: boolean }) =>
      request<Person>(`/api/v1/people/${id}`, { method: 'PATCH', body: change }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: peopleKeys.all }),
  })
}

/** Removes the authenticator app of a person who has lost it. */
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

/** Sends the invitation by e-mail again. Earlier links of the person stop working. */
export function useSendInvitationAgain() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (id: string) => request<Person>(`/api/v1/people/${id}/invitation-mail`, { method: 'POST' }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: peopleKeys.all }),
  })
}

/** The keys of a service account. */
export function accountKeysQuery(id: string) {
  return queryOptions({
    queryKey: [...peopleKeys.all, id, 'keys'] as const,
    queryFn: ({ signal }) => request<ApiKey[]>(keysOf(id), { signal }),
  })
}

/** Creates a key for a service account. The text of the key is only in this reply. */
export function useCreateAccountKey(id: string) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (body: NewApiKey) => request<CreatedApiKey>(keysOf(id), { method: 'POST', body }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: [...peopleKeys.all, id, 'keys'] }),
    meta: { errorShownInline: true },
  })
}

export function useRevokeAccountKey(id: string) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (keyId: string) => request<undefined>(`${keysOf(id)}/${keyId}`, { method: 'DELETE' }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: [...peopleKeys.all, id, 'keys'] }),
  })
}

const keysOf = (id: string) => `/api/v1/people/service-accounts/${id}/keys`
