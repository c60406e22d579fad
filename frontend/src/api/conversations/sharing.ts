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

/** The people and teams that a conversation is shared with. Only its owner may read them. */
export function sharingQuery(id: string) {
  return queryOptions({
    queryKey: keyOf(id),
    queryFn: ({ signal }) => request<Sharing>(rootOf(id), { signal }),
  })
}

/** The teams and people whose name contains the text, and the person whose e-mail address is the text. */
export function candidatesQuery(id: string, text: string) {
  return queryOptions({
    queryKey: [...keyOf(id), 'candidates', text] as const,
    queryFn: ({ signal }) =>
      request<Candidate[]>(`${rootOf(id)}/candidates`, { query: { query: text }, signal }),
    enabled: text !== '',
    placeholderData: keepPreviousData,
  })
}

/** The target of sharing: one person, one team, or everyone who is signed in. */
export type SharedWith = { userId: string } | { teamId: string } | 'everyone'

/** Gives access, changes it, or removes it (null). */
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
