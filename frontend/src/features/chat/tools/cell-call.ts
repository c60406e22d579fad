/**
 * Reads calls of notebook cells. They are sent as calls of an MCP tool, so their arguments can have any form.
 * Pure.
 */
import { actionIs, type EventOf } from '@/events/wire/types'

export interface CellCall {
  code: string
  /** Whether the call asks for a new kernel. */
  isRestart: boolean
}

/**
 * Returns the cell that a call runs. Returns null for all other calls, including calls of another tool with
 * the same name.
 */
export function cellCall({
  tool_name,
  action,
}: Pick<EventOf<'ActionEvent'>, 'action' | 'tool_name'>): CellCall | null {
  if (tool_name !== 'execute_ipython_cell' || !actionIs(action, 'MCPToolAction')) return null
  const { code, restart } = action.data ?? {}
  return typeof code === 'string' ? { code, isRestart: restart === true } : null
}
