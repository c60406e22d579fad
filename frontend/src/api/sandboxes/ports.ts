import type { Schemas } from '@/api/schema'
import { queryOptions, useMutation } from '@tanstack/react-query'
import { request } from '@/api/client'

/**
 * A port on which a process of the sandbox listens.
 * `conversation_id`: whose agent has started it; null if a person has, or if it is unknown.
 */
export type ListeningPort = Schemas['SandboxPort']

export type SandboxPorts = Schemas['SandboxPorts']

/**
 * Opens a port to everyone who has the link, until `expires_at`.
 * `keeps_prefix`: the program gets the path of `url` whole.
 */
export type PortLink = Schemas['Link']

/** How often the list is looked at again; servers that start are not announced. */
const REFETCH_MS = 4000

const root = (sandboxId: string) => `/api/v1/sandboxes/${sandboxId}`

/** The ports on which programs of the sandbox listen now. */
export function portsQuery(sandboxId: string) {
  return queryOptions({
    queryKey: ['ports', sandboxId],
    queryFn: ({ signal }) => request<SandboxPorts>(`${root(sandboxId)}/ports`, { signal }),
    // A program in the sandbox opens a port without an event.
    refetchInterval: REFETCH_MS,
  })
}

/** The longest that a link may last, in seconds: a server is started with its path, and runs for days. */
const BASE_PATH_SECONDS = 7 * 24 * 3600

/** A link below whose path a server can be told to live. Later links to its port are this one again. */
export function useCreateBasePath(sandboxId: string) {
  return useMutation({
    mutationFn: (port: number) =>
      request<PortLink>(`${root(sandboxId)}/links`, {
        method: 'POST',
        body: { port, keeps_prefix: true, lifetime_seconds: BASE_PATH_SECONDS },
      }),
    meta: { errorShownInline: true },
  })
}

/** The tab shows the errors. */
export function useCreatePortLink(sandboxId: string) {
  return useMutation({
    mutationFn: (port: number) =>
      request<PortLink>(`${root(sandboxId)}/links`, { method: 'POST', body: { port } }),
    meta: { errorShownInline: true },
  })
}
