import { queryOptions, useMutation, useQueryClient, type QueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import { conversationKeys } from '@/api/conversations/conversation-keys'
import type { components } from '@/api/schema.gen'

export type Team = components['schemas']['TeamInfo']
export type TeamDetails = components['schemas']['TeamDetails']
export type TeamRepositories = components['schemas']['TeamRepositories']
export type SaveTeamRepositories = components['schemas']['SaveTeamRepositories']
export type RepositoryOwner = components['schemas']['RepositoryOwner']
export type TeamMember = components['schemas']['TeamMemberInfo']

const ROOT = '/api/v1/teams'

export const teamKeys = {
  all: ['teams'] as const,
  one: (id: string) => ['teams', id] as const,
  repositories: (id: string) => ['teams', id, 'repositories'] as const,
  owner: (repository: string) => ['teams', 'owner', repository] as const,
}

/** The teams of the user. For administrators, all teams. */
export function teamsQuery() {
  return queryOptions({
    queryKey: teamKeys.all,
    queryFn: ({ signal }) => request<Team[]>(ROOT, { signal }),
  })
}

/** One team with its members. */
export function teamQuery(id: string) {
  return queryOptions({
    queryKey: teamKeys.one(id),
    queryFn: ({ signal }) => request<TeamDetails>(`${ROOT}/${id}`, { signal }),
  })
}

/** Loads the lists of teams and of conversations again, because teams give access to conversations. */
function refresh(queryClient: QueryClient) {
  void queryClient.invalidateQueries({ queryKey: conversationKeys.all })
  return queryClient.invalidateQueries({ queryKey: teamKeys.all })
}

/** Creates a team, or renames the team with this id. The form shows the errors. */
export function useSaveTeam() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: ({ id, name }: { id?: string; name: string }) =>
      request<TeamDetails>(id ? `${ROOT}/${id}` : ROOT, { method: id ? 'PATCH' : 'POST', body: { name } }),
    onSuccess: () => refresh(queryClient),
    meta: { errorShownInline: true },
  })
}

export function useDeleteTeam() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (id: string) => request<void>(`${ROOT}/${id}`, { method: 'DELETE' }),
    onSuccess: () => refresh(queryClient),
  })
}

/** Adds a person to a team, or removes the person. */
export function useChangeMember(teamId: string) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: ({ userId, isMember }: { userId: string; isMember: boolean }) =>
      request<TeamDetails>(`${ROOT}/${teamId}/members/${userId}`, { method: isMember ? 'PUT' : 'DELETE' }),
    onSuccess: () => refresh(queryClient),
  })
}

/** Allows a member to change the list of the team's repositories, or removes this right. */
export function useChangeMaintainer(teamId: string) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: ({ userId, isMaintainer }: { userId: string; isMaintainer: boolean }) =>
      request<TeamDetails>(`${ROOT}/${teamId}/maintainers/${userId}`, {
        method: isMaintainer ? 'PUT' : 'DELETE',
      }),
    onSuccess: () => refresh(queryClient),
  })
}

/** The repositories of a team, and the settings that apply to them. */
export function teamRepositoriesQuery(id: string) {
  return queryOptions({
    queryKey: teamKeys.repositories(id),
    queryFn: ({ signal }) => request<TeamRepositories>(`${ROOT}/${id}/repositories`, { signal }),
  })
}

/** Replaces the repositories of a team. The form shows the errors. */
export function useSaveTeamRepositories(teamId: string) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (body: SaveTeamRepositories) =>
      request<TeamRepositories>(`${ROOT}/${teamId}/repositories`, { method: 'PUT', body }),
    onSuccess: () => refresh(queryClient),
    meta: { errorShownInline: true },
  })
}

/** The team that a repository belongs to. Null if that makes no difference to the user. */
export function repositoryOwnerQuery(repository: string) {
  return queryOptions({
    queryKey: teamKeys.owner(repository),
    queryFn: ({ signal }) =>
      request<RepositoryOwner | null>('/api/v1/repository-owner', { query: { repository }, signal }),
    retry: false,
  })
}
