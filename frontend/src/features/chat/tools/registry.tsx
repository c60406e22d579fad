import type { ComponentType, ReactNode } from 'react'
import { actionIs, type Action, type ActionByKind } from '@/events/wire/types'
import { BrowserTool } from './browser'
import { browserCall } from './browser-call'
import { cellCall } from './cell-call'
import { fileCall } from './file-call'
import { FileTool } from './file-tool'
import { GenericTool } from './generic'
import { MemoryTool } from './memory'
import { NotebookTool } from './notebook'
import { noteCall } from './note-call'
import { PatchTool } from './patch'
import { SearchTool } from './search'
import { FinishTool, SkillTool, TaskTrackerTool, ThinkTool } from './small-tools'
import { TaskTool } from './task'
import { TerminalTool } from './terminal'
import type { ToolProps } from './tool-props'

type Common = Omit<ToolProps, 'action'>
type Render = (action: Action | null, common: Common) => ReactNode

/** Registers a renderer for one kind of action. */
const BY_KIND: ReadonlyMap<string, Render> = new Map([
  kind('TerminalAction', TerminalTool),
  kind('ApplyPatchAction', PatchTool),
  kind('GlobAction', SearchTool),
  kind('GrepAction', SearchTool),
  kind('InvokeSkillAction', SkillTool),
  kind('ThinkAction', ThinkTool),
  kind('FinishAction', FinishTool),
  kind('TaskTrackerAction', TaskTrackerTool),
  kind('TaskAction', TaskTool),
])

/**
 * Registers a renderer for several kinds, or for calls that differ by their arguments. The first one that
 * fits is used.
 */
const BY_CALL: readonly Render[] = [
  (action, common) => call(fileCall(action), common, FileTool),
  (action, common) => call(browserCall(action), common, BrowserTool),
  (_, common) => call(cellCall(common.event), common, NotebookTool),
  (_, common) => call(noteCall(common.event), common, MemoryTool),
]

/** Renders an action with the renderer of its tool. Tools without a renderer get the generic row. */
export function RegisteredTool({ action, ...common }: Common & { action: Action | null }) {
  const ofKind = action === null ? undefined : BY_KIND.get(action.kind)
  if (ofKind !== undefined) return ofKind(action, common)
  for (const render of BY_CALL) {
    const shown = render(action, common)
    if (shown !== null) return shown
  }
  return <GenericTool {...common} action={action} />
}

function kind<K extends keyof ActionByKind>(
  name: K,
  Tool: ComponentType<ToolProps<ActionByKind[K]>>,
): [string, Render] {
  return [name, (action, common) => (actionIs(action, name) ? <Tool {...common} action={action} /> : null)]
}

function call<C>(found: C | null, common: Common, Tool: ComponentType<Common & { call: C }>): ReactNode {
  return found === null ? null : <Tool {...common} call={found} />
}
