import type { Schemas, Sent } from '@/api/schema'
import { queryOptions } from '@tanstack/react-query'
import { request } from '@/api/client'

/** The plugins that people open in a frame. The values are their `name` on the wire. */
export type Screen = 'vscode' | 'desktop'

/**
 * A program that runs, or can run, beside the agent server. `reason` and `fix` belong to a program that is
 * unavailable.
 */
export type RuntimePlugin = Sent<Schemas['RuntimePluginInfo']>

type Started = Pick<RuntimePlugin, 'port'> & Pick<Schemas['RuntimePluginStarted'], 'path'>

/** A link that opens the screen to everyone who has it, until `expires_at`. */
export type OpenedScreen = Pick<Schemas['Link'], 'url' | 'expires_at'>

// A sleeping sandbox must be started first, so the request may take long.
const START_TIMEOUT_MS = 180_000

export const runtimePluginKeys = {
  ofSandbox: (sandboxId: string) => ['runtime-plugins-of-sandbox', sandboxId] as const,
  screen: (conversationId: string, screen: Screen) => ['runtime-plugins', conversationId, screen] as const,
}

/**
 * The runtime plugins of a sandbox. The list is empty if the sandbox has never run and its image is not
 * known.
 */
export function runtimePluginsQuery(sandboxId: string) {
  return queryOptions({
    queryKey: runtimePluginKeys.ofSandbox(sandboxId),
    queryFn: async ({ signal }) => {
      const base = `/api/v1/sandboxes/${sandboxId}`
      return (await request<{ items: RuntimePlugin[] }>(`${base}/runtime-plugins`, { signal })).items
    },
    // While a sandbox runs, its image does not change, so the list stays valid.
    staleTime: Infinity,
    retry: false,
  })
}

/**
 * Starts the plugin if it does not run, and gets a link to its view of the conversation. Fetching again
 * restarts a plugin that has died.
 */
export function screenQuery(sandboxId: string, conversationId: string, screen: Screen) {
  return queryOptions({
    queryKey: runtimePluginKeys.screen(conversationId, screen),
    queryFn: async ({ signal }): Promise<OpenedScreen> => {
      const base = `/api/v1/sandboxes/${sandboxId}`
      const started = await request<Started>(`${base}/runtime-plugins/${screen}/start`, {
        method: 'POST',
        query: { conversation_id: conversationId },
        signal,
        timeoutMs: START_TIMEOUT_MS,
      })
      return request<OpenedScreen>(`${base}/links`, {
        method: 'POST',
        body: { port: started.port, path: started.path },
        signal,
      })
    },
    // Each fetch loads the frame again, so it happens only when the user asks for it.
    staleTime: Infinity,
    gcTime: 0,
    retry: false,
    refetchOnMount: false,
    refetchOnReconnect: false,
    refetchOnWindowFocus: false,
  })
}
