/** Cells of a notebook travel as calls of an MCP tool, whose arguments may be anything. Pure. */
import { actionIs, type EventOf } from '@/events/wire/types'

export interface CellCall {
  code: string
  /** The kernel was to be a new one. */
  isRestart: boolean
}

/** The cell that a call would run; null for every other call, and for a tool that only has the same name. */
export function cellCall({
  tool_name,
  action,
}: Pick<EventOf<'ActionEvent'>, 'action' | 'tool_name'>): CellCall | null {
  if (tool_name !== 'execute_ipython_cell' || !actionIs(action, 'MCPToolAction')) return null
  const { code, restart } = action.data ?? {}
  return typeof code === 'string' ? { code, isRestart: restart === true } : null
}
