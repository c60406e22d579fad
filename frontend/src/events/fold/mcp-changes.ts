/** Reads from the log which tools of MCP servers differ from their approved versions. Pure. */
import { eventIs, type ConversationEvent } from '@/events/wire/types'

export interface McpChange {
  server: string
  tool: string
  change: 'changed' | 'renamed' | 'removed' | 'new'
  /** Identifies this change. An answer is valid only for this change. */
  fingerprint: string
  /** The difference as a unified diff. */
  difference: string
  /** True if a user has refused the change. Then calls of the tool stay refused. */
  isRefused: boolean
}

const KINDS: readonly unknown[] = ['changed', 'renamed', 'removed', 'new'] satisfies McpChange['change'][]

/**
 * Returns all changes that are open after `event`. Returns null if the event reports nothing about changes.
 */
export function mcpChangesOf(event: ConversationEvent): McpChange[] | null {
  if (!eventIs(event, 'ConversationStateUpdateEvent') || event.key !== 'agent_state') return null
  const servers = (event.value as { mcp_changes?: unknown } | null)?.mcp_changes
  if (typeof servers !== 'object' || servers === null) return null
  return Object.entries(servers as Record<string, unknown>).flatMap(([server, changes]) =>
    Array.isArray(changes) ? changes.flatMap((change: unknown) => changeOf(server, change)) : [],
  )
}

function changeOf(server: string, value: unknown): McpChange[] {
  const { tool, change, fingerprint, difference, is_refused } = value as Record<string, unknown>
  const isChange =
    typeof tool === 'string' &&
    typeof fingerprint === 'string' &&
    typeof difference === 'string' &&
    KINDS.includes(change)
  if (!isChange) return []
  const isRefused = is_refused === true
  return [{ server, tool, change: change as McpChange['change'], fingerprint, difference, isRefused }]
}
