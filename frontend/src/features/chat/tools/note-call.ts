/**
 * Reads calls of the tools for notes. They are sent as calls of an MCP tool, so their arguments can have any
 * form. Pure.
 */
import { actionIs, type EventOf } from '@/events/wire/types'

export interface NoteCall {
  command: 'create' | 'update' | 'delete' | 'search'
  /** The title or the name of the note, or the searched words. */
  subject: string
  text: string
}

const WRITES: ReadonlySet<unknown> = new Set(['create', 'update', 'delete'])

/**
 * Returns the call of a tool for notes. Returns null for all other calls, including calls of another tool
 * with the same name.
 */
export function noteCall({ tool_name, action }: EventOf<'ActionEvent'>): NoteCall | null {
  if (!actionIs(action, 'MCPToolAction')) return null
  const { command, name, title, text, query } = action.data ?? {}
  if (tool_name === 'memory_search' && typeof query === 'string')
    return { command: 'search', subject: query, text: '' }
  if (tool_name !== 'memory_write' || !WRITES.has(command) || typeof name !== 'string') return null
  return {
    command: command as NoteCall['command'],
    subject: typeof title === 'string' ? title : name,
    text: typeof text === 'string' ? text : '',
  }
}
