import { useConversation } from '@/events/use-conversation'
import { agentStatus } from '@/events/status'
import type { TimelineItem } from '@/events/reduce'
import { actionIs } from '@/events/types'
import { Markdown } from '../markdown'
import { toolState } from '../outcome'
import { Reasoning } from '../reasoning'
import { contentText } from '../rows'
import { fileCall } from './file-call'
import { FileTool } from './file-tool'
import { GenericTool } from './generic'
import { PatchTool } from './patch'
import { SearchTool } from './search'
import { FinishTool, SkillTool, TaskTrackerTool, ThinkTool } from './small-tools'
import { TerminalTool } from './terminal'

/** An action, what the agent said to it, and what came of it. */
export function ToolRow({ item }: { item: Extract<TimelineItem, { type: 'tool' }> }) {
  const thought = contentText(item.action.thought)
  return (
    <div>
      <Reasoning text={item.action.reasoning_content} />
      {thought !== '' && (
        <div className="mb-2">
          <Markdown text={thought} />
        </div>
      )}
      <Tool item={item} />
    </div>
  )
}

function Tool({ item }: { item: Extract<TimelineItem, { type: 'tool' }> }) {
  const isAgentRunning = useConversation((state) => agentStatus(state) === 'running')
  const { action: event, outcome } = item
  const { action } = event
  const common = { event, outcome, state: toolState(outcome, isAgentRunning) }
  if (actionIs(action, 'TerminalAction')) return <TerminalTool {...common} action={action} />
  if (actionIs(action, 'ApplyPatchAction')) return <PatchTool {...common} action={action} />
  if (actionIs(action, 'GlobAction') || actionIs(action, 'GrepAction'))
    return <SearchTool {...common} action={action} />
  if (actionIs(action, 'InvokeSkillAction')) return <SkillTool {...common} action={action} />
  if (actionIs(action, 'ThinkAction')) return <ThinkTool {...common} action={action} />
  if (actionIs(action, 'FinishAction')) return <FinishTool {...common} action={action} />
  if (actionIs(action, 'TaskTrackerAction')) return <TaskTrackerTool {...common} action={action} />
  const file = fileCall(action)
  if (file !== null) return <FileTool {...common} call={file} />
  return <GenericTool {...common} action={action ?? null} />
}
