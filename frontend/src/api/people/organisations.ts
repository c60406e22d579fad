import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import type { components } from '@/api/schema.gen'
import type { Person, SignInLink } from '@/api/types'
import { type AssignableRole, peopleKeys } from './people'

export type Organisation = components['schemas']['OrganisationInfo']

const ROOT = '/api/v1/organisations'

export const organisationKeys = { all: ['organisations'] as const }

/** All organisations, the default organisation first. Only the owner of the installation may read them. */
export function organisationsQuery() {
  return queryOptions({
    queryKey: organisationKeys.all,
    queryFn: ({ signal }) => request<Organisation[]>(ROOT, { signal }),
  })
}

/**
 * Creates an organisation and invites its owner. Returns the sign-in link for the owner. The form shows the
 * errors.
 */
export function useCreateOrganisation() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: async ({ name, owner }: { name: string; owner: string }): Promise<SignInLink> => {
      const { id } = await request<Organisation>(ROOT, { method: 'POST', body: { name } })
      const invited = await request<{ sign_in_link: SignInLink }>(`${ROOT}/${id}/people`, {
        method: 'POST',
        body: { name: owner, role: 'owner' },
      })
      return invited.sign_in_link
    },
    onSettled: () => queryClient.invalidateQueries({ queryKey: organisationKeys.all }),
    meta: { errorShownInline: true },
  })
}

export function useDeleteOrganisation() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (id: string) => request<void>(`${ROOT}/${id}`, { method: 'DELETE' }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: organisationKeys.all }),
  })
}

/** Moves a person to another organisation. */
export function useMovePerson() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: ({ personId, to, role }: { personId: string; to: string; role: AssignableRole }) =>
      request<Person>(`${ROOT}/${to}/people/${personId}`, { method: 'PUT', body: { role } }),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: organisationKeys.all })
      await queryClient.invalidateQueries({ queryKey: peopleKeys.all })
    },
  })
}
