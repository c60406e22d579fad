import type { Schemas, Sent } from '@/api/schema'
import { queryOptions } from '@tanstack/react-query'
import { request } from '@/api/client'

/** The plugins that people open in a frame, by their `name` on the wire. */
export type Screen = 'vscode' | 'desktop'

/** What runs, or could run, beside the agent server. `reason`, `fix`: of one that is unavailable. */
export type RuntimePlugin = Sent<Schemas['RuntimePluginInfo']>

type Started = Pick<RuntimePlugin, 'port'> & Pick<Schemas['RuntimePluginStarted'], 'path'>

/** `url` opens it to everyone who has it, until `expires_at`. */
export type OpenedScreen = Pick<Schemas['Link'], 'url' | 'expires_at'>

// A sandbox that sleeps is woken first.
const START_TIMEOUT_MS = 180_000

export const runtimePluginKeys = {
  ofSandbox: (sandboxId: string) => ['runtime-plugins-of-sandbox', sandboxId] as const,
  screen: (conversationId: string, screen: Screen) => ['runtime-plugins', conversationId, screen] as const,
}

/** The runtime plugins of a sandbox. Empty if it has never run and its image is not known. */
export function runtimePluginsQuery(sandboxId: string) {
  return queryOptions({
    queryKey: runtimePluginKeys.ofSandbox(sandboxId),
    queryFn: async ({ signal }) => {
      const base = `/api/v1/sandboxes/${sandboxId}`
      return (await request<{ items: RuntimePlugin[] }>(`${base}/runtime-plugins`, { signal })).items
    },
    // An image does not change under its sandbox.
    staleTime: Infinity,
    retry: false,
  })
}

/**
 * Starts it, if need be, and gets a link to what it shows of the conversation: fetched again, it comes back after
 * it has died.
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
    // Each fetch loads the frame anew: only when the user asks for it.
    staleTime: Infinity,
    gcTime: 0,
    retry: false,
    refetchOnMount: false,
    refetchOnReconnect: false,
    refetchOnWindowFocus: false,
  })
}
