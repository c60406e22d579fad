import { useConversation } from '@/events/use-conversation'
import { agentStatus } from '@/events/status'
import type { TimelineItem } from '@/events/reduce'
import { actionIs } from '@/events/types'
import { Markdown } from '../markdown'
import { toolState } from '../outcome'
import { Reasoning } from '../reasoning'
import { contentText } from '../rows'
import { FileEditorTool } from './file-editor'
import { GenericTool } from './generic'
import { FinishTool, TaskTrackerTool, ThinkTool } from './small-tools'
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
  if (actionIs(action, 'FileEditorAction')) return <FileEditorTool {...common} action={action} />
  if (actionIs(action, 'ThinkAction')) return <ThinkTool {...common} action={action} />
  if (actionIs(action, 'FinishAction')) return <FinishTool {...common} action={action} />
  if (actionIs(action, 'TaskTrackerAction')) return <TaskTrackerTool {...common} action={action} />
  return <GenericTool {...common} action={action ?? null} />
}
