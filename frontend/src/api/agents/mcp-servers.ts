import type { Schemas, Sent } from '@/api/schema'
import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'

const ROOT = '/api/v1/settings/mcp'
/** The server waits up to 30 s for an answer. */
const TEST_TIMEOUT_MS = 45_000

/** Stands for the stored value of a header or a variable; sent back, it keeps it. */
export const STORED_VALUE = '**********'

/**
 * Values of `headers` and `env` are masked. `env_hosts`: the hosts that get the value of a variable; if there are
 * none, everything in the sandbox can read the value.
 * `sign_in`: how the sign-in stands, where `auth` wants one.
 * `wanted_scope`: what the next sign-in asks for, where the server has refused a call without it; empty if it did not say.
 * `timeout`: seconds that a call may take.
 */
export type McpServer = Sent<Schemas['McpServerInfo']>

export type McpSettings = Sent<Schemas['McpSettings']>

export type McpTool = Schemas['McpToolInfo']

/** `ok`: it answered, with these tools; else `error` says why not. */
export type McpTestReport = Sent<Schemas['McpTestReport']>

export interface NamedMcpServer extends McpServer {
  name: string
}

export const mcpServerKeys = { all: ['mcp-servers'] as const }

const path = (name: string, action = '') => `${ROOT}/${encodeURIComponent(name)}${action && `/${action}`}`

/** The user's MCP servers, by name. */
export function mcpServersQuery() {
  return queryOptions({
    queryKey: mcpServerKeys.all,
    queryFn: async ({ signal }) => {
      const { mcp_config } = await request<McpSettings>(ROOT, { signal })
      return Object.entries(mcp_config).map(([name, server]): NamedMcpServer => ({ name, ...server }))
    },
  })
}

export interface SaveMcpServerVariables {
  name: string
  isNew: boolean
  server: Partial<McpServer>
}

/** Adds a server, or changes what is given of one. The form shows the errors. */
export function useSaveMcpServer() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: ({ name, isNew, server }: SaveMcpServerVariables) =>
      request<McpServer>(path(name), { method: isNew ? 'POST' : 'PATCH', body: server }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: mcpServerKeys.all }),
    meta: { errorShownInline: true },
  })
}

export function useSwitchMcpServer() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: ({ name, enabled }: Pick<NamedMcpServer, 'name' | 'enabled'>) =>
      request<McpServer>(path(name), { method: 'PATCH', body: { enabled } }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: mcpServerKeys.all }),
  })
}

export function useDeleteMcpServer() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (name: string) => request<unknown>(path(name), { method: 'DELETE' }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: mcpServerKeys.all }),
  })
}

/** Returns the address that the browser must open to sign in to the server. */
export function useStartMcpSignIn() {
  return useMutation({
    mutationFn: (name: string) =>
      request<{ authorization_url: string }>(path(name, 'sign-in'), {
        method: 'POST',
        timeoutMs: TEST_TIMEOUT_MS,
      }),
    meta: { errorShownInline: true },
  })
}

/** Forgets what a sign-in has brought. */
export function useDisconnectMcpServer() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (name: string) => request<unknown>(path(name, 'sign-in'), { method: 'DELETE' }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: mcpServerKeys.all }),
  })
}

/** Hands in what the browser was sent back with. It counts once, so it is asked for once. */
export function mcpSignInQuery(answer: Record<string, string>) {
  return queryOptions({
    queryKey: ['mcp-sign-in', answer.state],
    queryFn: () =>
      request<{ name: string }>('/api/v1/mcp-sign-ins', {
        method: 'POST',
        body: answer,
        timeoutMs: TEST_TIMEOUT_MS,
      }),
    retry: false,
    staleTime: Infinity,
  })
}

/** Reaches the server and lists its tools; one that cannot be reached is an answer, too. */
export function useTestMcpServer() {
  return useMutation({
    mutationFn: (name: string) =>
      request<McpTestReport>(path(name, 'test'), { method: 'POST', timeoutMs: TEST_TIMEOUT_MS }),
    meta: { errorShownInline: true },
  })
}
