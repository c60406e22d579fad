import type { Schemas, Sent } from '@/api/schema'
import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '@/api/client'

const ROOT = '/api/v1/settings/mcp'
/** The app server waits up to 30 s for an answer, so the request must last longer. */
const TEST_TIMEOUT_MS = 45_000

/**
 * The placeholder for the stored value of a header or a variable. If the page sends the placeholder back, the
 * app server keeps the stored value.
 */
export const STORED_VALUE = '**********'

/**
 * An MCP server. Values of `headers` and `env` are masked. `env_hosts` are the hosts that get the value of a
 * variable. If there are none, everything in the sandbox can read the value. `sign_in` is the state of the
 * sign-in, if `auth` requires a sign-in. `wanted_scope` is the scope that the next sign-in asks for after the
 * MCP server refused a call without it. It is empty if the MCP server named no scope. `timeout` is the number
 * of seconds that a call may take.
 */
export type McpServer = Sent<Schemas['McpServerInfo']>

export type McpSettings = Sent<Schemas['McpSettings']>

export type McpTool = Schemas['McpToolInfo']

/**
 * The result of a test. If `ok` is true, the MCP server answered and `tools` lists its tools. If not, `error`
 * says why.
 */
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

/** Adds a server, or changes the given fields of an existing server. The form shows the errors. */
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

/** Removes the tokens that a sign-in has brought. */
export function useDisconnectMcpServer() {
  const queryClient = useQueryClient()
  return useMutation({
    mutationFn: (name: string) => request<unknown>(path(name, 'sign-in'), { method: 'DELETE' }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: mcpServerKeys.all }),
  })
}

/**
 * Sends the data with which the MCP server redirected the browser to this page. The app server accepts the
 * data only once, so the query is never repeated.
 */
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

/**
 * Calls the MCP server and lists its tools. If the server cannot be reached, the request still succeeds, and
 * the report says so.
 */
export function useTestMcpServer() {
  return useMutation({
    mutationFn: (name: string) =>
      request<McpTestReport>(path(name, 'test'), { method: 'POST', timeoutMs: TEST_TIMEOUT_MS }),
    meta: { errorShownInline: true },
  })
}
