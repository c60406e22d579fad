/** The output of running commands. The stream sends it, and the log never contains it. */
import type { LiveOutput } from '@/events/wire/types'

/** The outputs, by the id of the action event. */
export type Outputs = ReadonlyMap<string, LiveOutput>

/**
 * Updates the outputs. An output stays until its action is answered, even if later frames do not contain it.
 */
export function outputsAfter(
  outputs: Outputs,
  reported: readonly LiveOutput[],
  openActions: ReadonlyMap<string, unknown>,
): Outputs {
  const open = reported.filter(({ action_id }) => openActions.has(action_id))
  if (open.length === 0) return outputs
  return new Map([...outputs, ...open.map((output) => [output.action_id, output] as const)])
}

export function withoutOutput(outputs: Outputs, actionId: string): Outputs {
  return outputs.has(actionId) ? new Map([...outputs].filter(([id]) => id !== actionId)) : outputs
}
