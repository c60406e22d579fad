import type { Schemas } from '@/api/schema'
import { queryOptions, useMutation } from '@tanstack/react-query'
import { request } from '@/api/client'

/**
 * A port on which a process of the sandbox listens. `conversation_id` is the conversation whose agent started
 * the process. It is null if a person started the process, or if that is unknown.
 */
export type ListeningPort = Schemas['SandboxPort']

export type SandboxPorts = Schemas['SandboxPorts']

/**
 * A link that opens a port to everyone who has the link, until `expires_at`. If `keeps_prefix` is true, the
 * program receives the whole path of `url`.
 */
export type PortLink = Schemas['Link']

/** The interval at which the list is loaded again. No event reports a program that starts to listen. */
const REFETCH_MS = 4000

const root = (sandboxId: string) => `/api/v1/sandboxes/${sandboxId}`

/** The ports on which programs of the sandbox listen now. */
export function portsQuery(sandboxId: string) {
  return queryOptions({
    queryKey: ['ports', sandboxId],
    queryFn: ({ signal }) => request<SandboxPorts>(`${root(sandboxId)}/ports`, { signal }),
    // No event reports a program that opens a port, so the list is loaded repeatedly.
    refetchInterval: REFETCH_MS,
  })
}

/**
 * The longest possible lifetime of a link, in seconds. A program is started with the path of the link and may
 * run for days.
 */
const BASE_PATH_SECONDS = 7 * 24 * 3600

/**
 * Creates a link whose path a program can use as its base path. Later requests for the port return the same
 * link.
 */
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

/** Creates a link to a port. The tab shows the errors. */
export function useCreatePortLink(sandboxId: string) {
  return useMutation({
    mutationFn: (port: number) =>
      request<PortLink>(`${root(sandboxId)}/links`, { method: 'POST', body: { port } }),
    meta: { errorShownInline: true },
  })
}
