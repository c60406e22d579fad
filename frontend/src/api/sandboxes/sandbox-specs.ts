import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import type { Page } from '@/api/types'

/** The id of what the server starts sandboxes from itself. */
export const SERVERS_OWN = 'default'

export const RUNTIME_PLUGINS = ['vscode', 'desktop', 'browser', 'jupyter'] as const
export type RuntimePluginName = (typeof RUNTIME_PLUGINS)[number]

/** What sandboxes can start from. */
export interface SandboxSpec {
  id: string
  name: string
  /** The image that it is built on; null where sandboxes have none. */
  base: string | null
  /** The repository and path whose files it is built from. */
  origin: string | null
  dockerfile: string | null
  /** What of its devcontainer.json is not used, each with why. */
  ignored: string[]
  /** What its sandboxes offer beside the agent; null: all that the image has. */
  runtime_plugins: RuntimePluginName[] | null
  created_at: string
}

export interface SandboxSpecSettings {
  sandbox_spec_id: string
  repositories: { repository: string; sandbox_spec_id: string }[]
  may_choose: boolean
  /** Why not. */
  reason: string | null
}

export interface RepositoryAsked {
  selected_repository: string
  selected_branch: string | null
  /** Null: the first of the usual places. */
  path: string | null
}

/** What a repository would have built; `base` names all of it. */
export interface RepositoryBase {
  base: string
  repository: string
  path: string
  dockerfile: string | null
  files: number
  bytes: number
  ignored: string[]
}

export type NewSandboxSpec = { name: string; runtime_plugins?: RuntimePluginName[] } & (
  { image: string } | { dockerfile: string } | { repository: RepositoryAsked; base: string }
)

export interface SpecChoice {
  /** Null: for all that have none of their own. */
  repository: string | null
  sandbox_spec_id: string | null
}

const ROOT = '/api/v1/sandbox-specs'
const CHOICE = '/api/v1/settings/sandbox-spec'
const specKeys = { list: ['sandbox-specs'] as const, settings: ['sandbox-spec-settings'] as const }

export function sandboxSpecsQuery() {
  return queryOptions({
    queryKey: specKeys.list,
    queryFn: async ({ signal }) => (await request<Page<SandboxSpec>>(`${ROOT}/search`, { signal })).items,
  })
}

export function sandboxSpecSettingsQuery() {
  return queryOptions({
    queryKey: specKeys.settings,
    queryFn: ({ signal }) => request<SandboxSpecSettings>(CHOICE, { signal }),
  })
}

/** Nothing is built for it: what the repository has is read. The form shows the errors. */
export function useLookAtRepository() {
  return useMutation({
    mutationFn: (body: RepositoryAsked) =>
      request<RepositoryBase>(`${ROOT}/from-repository`, { method: 'POST', body }),
    meta: { errorShownInline: true },
  })
}

export function useCreateSandboxSpec() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (body: NewSandboxSpec) => request<SandboxSpec>(ROOT, { method: 'POST', body }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: specKeys.list }),
    meta: { errorShownInline: true },
  })
}

export function useDeleteSandboxSpec() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (id: string) => request<unknown>(`${ROOT}/${id}`, { method: 'DELETE' }),
    onSuccess: () =>
      Promise.all([
        queryClient.invalidateQueries({ queryKey: specKeys.list }),
        queryClient.invalidateQueries({ queryKey: specKeys.settings }),
      ]),
  })
}

export function useChooseSandboxSpec() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (body: SpecChoice) => request<SandboxSpecSettings>(CHOICE, { method: 'PUT', body }),
    onSuccess: (settings) => queryClient.setQueryData(specKeys.settings, settings),
    meta: { errorShownInline: true },
  })
}
