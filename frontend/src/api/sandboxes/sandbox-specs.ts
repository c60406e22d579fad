import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'
import type { Schemas, Sent } from '@/api/schema'
import type { Page } from '@/api/types'

/** The id of the server's own image. */
export const SERVER_SPEC_ID = 'default'

export const RUNTIME_PLUGINS = ['vscode', 'desktop', 'browser', 'jupyter'] as const
export type RuntimePluginName = (typeof RUNTIME_PLUGINS)[number]

/**
 * An image that sandboxes can start from. `base` is the image that it is built on, or null if sandboxes have
 * none. `origin` is the repository and the path of the files that it is built from. `ignored` are the parts
 * of its devcontainer.json that are not used, each with the reason. `runtime_plugins` are the plugins that
 * its sandboxes offer beside the agent. Null means all plugins of the image.
 */
export type SandboxSpec = Sent<Omit<Schemas['SandboxSpecInfo'], 'command' | 'initial_env' | 'working_dir'>>

/** `reason` is the reason why the user may not choose an image. */
export type SandboxSpecSettings = Schemas['SandboxSpecSettings']

/** `path` is null for the first of the usual places that has a file. */
export type RepositorySource = Sent<Omit<Schemas['FromRepository'], 'git_provider'>>

/** The image that would be built from a repository. `base` is a name that is computed from all its files. */
export type RepositoryBase = Schemas['RepositoryBase']

export type NewSandboxSpec = { name: string; runtime_plugins?: RuntimePluginName[] } & (
  { image: string } | { dockerfile: string } | { repository: RepositorySource; base: string }
)

/**
 * A choice of an image. If `repository` is null, the choice applies to all repositories without a separate
 * choice.
 */
export type SpecChoice = Sent<Omit<Schemas['ChooseSandboxSpec'], 'git_provider'>>

const ROOT = '/api/v1/sandbox-specs'
const CHOICE = '/api/v1/settings/sandbox-spec'
export const specKeys = { list: ['sandbox-specs'] as const, settings: ['sandbox-spec-settings'] as const }

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

/** Reads the files of a repository without building an image. The form shows the errors. */
export function useInspectRepository() {
  return useMutation({
    mutationFn: (body: RepositorySource) =>
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
