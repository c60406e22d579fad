import { keepPreviousData, queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import type { Schemas } from '@/api/schema'

export type CatalogueSkill = Schemas['CatalogueSkill']
export type InstalledSkill = Schemas['InstalledSkillInfo']
export type SkillChoice = Schemas['SkillChoiceInfo']
export type SkillLoading = Schemas['SkillLoading']
export type SkillRepository = Schemas['SkillRepositoryInfo']
type Catalogue = Schemas['Page_CatalogueSkill_']

const ROOT = '/api/v1/skills'
/** The app server waits up to 60 seconds for a repository, so the request must last longer. */
const FETCH_MS = 90_000
const ALL = ['skill-catalogue'] as const

/** The skills that can be installed: the first 100 skills that contain all words of `query`. */
export function catalogueQuery(query: string) {
  return queryOptions({
    queryKey: [...ALL, 'catalogue', query],
    queryFn: ({ signal }) => request<Catalogue>(`${ROOT}/catalogue`, { query: { query }, signal }),
    placeholderData: keepPreviousData,
  })
}

export function skillRepositoriesQuery() {
  return queryOptions({
    queryKey: [...ALL, 'repositories'],
    queryFn: ({ signal }) => request<SkillRepository[]>(`${ROOT}/catalogue/repositories`, { signal }),
  })
}

export function installedSkillsQuery() {
  return queryOptions({
    queryKey: [...ALL, 'installed'],
    queryFn: ({ signal }) => request<InstalledSkill[]>(`${ROOT}/installed`, { signal }),
  })
}

export function skillTextQuery(id: string) {
  return queryOptions({
    queryKey: [...ALL, 'installed', id],
    queryFn: ({ signal }) =>
      request<Schemas['InstalledSkillWithText']>(`${ROOT}/installed/${encodeURIComponent(id)}`, { signal }),
  })
}

/**
 * The skills that a new conversation loads, and the reason for each. An empty `repository` means a
 * conversation without a repository.
 */
export function skillLoadingQuery(repository: string) {
  return queryOptions({
    queryKey: [...ALL, 'loading', repository],
    queryFn: ({ signal }) =>
      request<SkillLoading[]>(`${ROOT}/loading`, {
        query: { repository: repository || undefined },
        signal,
      }),
    placeholderData: keepPreviousData,
  })
}

export function skillChoicesQuery() {
  return queryOptions({
    queryKey: [...ALL, 'choices'],
    queryFn: ({ signal }) => request<SkillChoice[]>(`${ROOT}/choices`, { signal }),
  })
}

export function useInstallSkill() {
  return useSkillChange((wanted: { name: string; marketplace: string | null; is_for_everyone: boolean }) =>
    request<InstalledSkill>(`${ROOT}/installed`, { method: 'POST', body: wanted, timeoutMs: FETCH_MS }),
  )
}

export function useUpdateSkill() {
  return useSkillChange((id: string) =>
    request<Schemas['UpdatedSkill']>(`${ROOT}/installed/${encodeURIComponent(id)}/update`, {
      method: 'POST',
      timeoutMs: FETCH_MS,
    }),
  )
}

export function useRemoveSkill() {
  return useSkillChange((id: string) =>
    request<unknown>(`${ROOT}/installed/${encodeURIComponent(id)}`, { method: 'DELETE' }),
  )
}

/** Switches a skill on or off. If `is_enabled` is null, the user's choice is removed. */
export function useChooseSkill() {
  return useSkillChange((choice: Schemas['ChooseSkill']) =>
    request<SkillChoice[]>(`${ROOT}/choices`, { method: 'PUT', body: choice }),
  )
}

/** Reads the repositories of all registered marketplaces again. */
export function useReadSkillRepositories() {
  return useSkillChange(() =>
    request<SkillRepository[]>(`${ROOT}/catalogue/read`, { method: 'POST', timeoutMs: 5 * FETCH_MS }),
  )
}

function useSkillChange<Wanted, Answer>(mutationFn: (wanted: Wanted) => Promise<Answer>) {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn,
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ALL }),
    meta: { errorShownInline: true },
  })
}
