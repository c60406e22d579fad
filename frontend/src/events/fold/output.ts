/** The output of running commands. It comes from the stream and is in no log. */
import type { LiveOutput } from '@/events/wire/types'

/** By the id of the action event. */
export type Outputs = ReadonlyMap<string, LiveOutput>

/** An output stands until its action is answered, also when nothing more is said of it. */
export function outputsAfter(
  outputs: Outputs,
  told: readonly LiveOutput[],
  openActions: ReadonlyMap<string, unknown>,
): Outputs {
  const open = told.filter(({ action_id }) => openActions.has(action_id))
  if (open.length === 0) return outputs
  return new Map([...outputs, ...open.map((output) => [output.action_id, output] as const)])
}

export function withoutOutput(outputs: Outputs, actionId: string): Outputs {
  return outputs.has(actionId) ? new Map([...outputs].filter(([id]) => id !== actionId)) : outputs
}
