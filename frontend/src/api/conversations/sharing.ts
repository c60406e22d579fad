import { keepPreviousData, queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import { conversationKeys } from './conversation-keys'
import type { components } from '@/api/schema.gen'

export type Sharing = components['schemas']['Sharing']
export type SharedPerson = components['schemas']['SharedPerson']
export type Candidate = components['schemas']['Candidate']

/** The kinds of access that a conversation can be shared with. */
export const ACCESS_LEVELS = ['view', 'steer'] as const
export type AccessLevel = (typeof ACCESS_LEVELS)[number]

const rootOf = (id: string) => `/api/v1/app-conversations/${id}/sharing`
const keyOf = (id: string) => ['sharing', id] as const

/** With whom a conversation is shared. For its owner. */
export function sharingQuery(id: string) {
  return queryOptions({
    queryKey: keyOf(id),
    queryFn: ({ signal }) => request<Sharing>(rootOf(id), { signal }),
  })
}

/** Teams and people whose name holds the text, or whose whole e-mail address it is. */
export function candidatesQuery(id: string, text: string) {
  return queryOptions({
    queryKey: [...keyOf(id), 'candidates', text] as const,
    queryFn: ({ signal }) =>
      request<Candidate[]>(`${rootOf(id)}/candidates`, { query: { query: text }, signal }),
    enabled: text !== '',
    placeholderData: keepPreviousData,
  })
}

/** One person, one team, or everyone who is signed in. */
export type SharedWith = { userId: string } | { teamId: string } | 'everyone'

/** Gives access, changes it, or takes it away (null). */
export function useChangeSharing(id: string) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: ({ who, access }: { who: SharedWith; access: AccessLevel | null }) => {
      if (who === 'everyone') {
        return request<Sharing>(rootOf(id), { method: 'PUT', body: { everyone: access } })
      }
      const part = 'teamId' in who ? `teams/${who.teamId}` : `people/${who.userId}`
      const path = `${rootOf(id)}/${part}`
      return access === null
        ? request<Sharing>(path, { method: 'DELETE' })
        : request<Sharing>(path, { method: 'PUT', body: { access } })
    },
    onSuccess: (sharing) => {
      queryClient.setQueryData(keyOf(id), sharing)
      void queryClient.invalidateQueries({ queryKey: conversationKeys.all })
    },
    meta: { errorShownInline: true },
  })
}
