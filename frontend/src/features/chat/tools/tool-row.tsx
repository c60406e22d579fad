import { useTranslation } from 'react-i18next'
import { useConversation } from '@/events/use-conversation'
import { agentStatus, isClientCall } from '@/events/status'
import type { TimelineItem } from '@/events/reduce'
import { actionIs } from '@/events/types'
import { CriticMark } from '../timeline/critic-mark'
import { Markdown } from '../text/markdown'
import { toolState } from './outcome'
import { givenRules } from '../timeline/given-rules'
import { Reasoning } from '../timeline/reasoning'
import { contentText } from '../timeline/rows'
import { SkillBadges } from '../timeline/skill-badges'
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

/** An action, what the agent said to it, and what came of it. */
export function ToolRow({ item }: { item: Extract<TimelineItem, { type: 'tool' }> }) {
  const { t } = useTranslation()
  const thought = contentText(item.action.thought)
  const rules = item.outcome?.kind === 'ObservationEvent' ? givenRules(item.outcome.extended_content) : []
  return (
    <div>
      <Reasoning text={item.action.reasoning_content} />
      {thought !== '' && (
        <div className="mb-2">
          <Markdown text={thought} />
        </div>
      )}
      <Tool item={item} />
      <CriticMark result={item.action.critic_result} />
      {rules.length > 0 && (
        <p className="mt-1.5 flex flex-wrap gap-1">
          <SkillBadges label={t('chat.rules_given')} names={rules} />
        </p>
      )}
    </div>
  )
}

function Tool({ item }: { item: Extract<TimelineItem, { type: 'tool' }> }) {
  const isAgentRunning = useConversation((state) => agentStatus(state) === 'running')
  const isWaiting = useConversation((state) => agentStatus(state) === 'waiting_for_confirmation')
  const { action: event, outcome } = item
  const { action } = event
  const answered = isWaiting && outcome === null ? 'waiting' : toolState(outcome, isAgentRunning)
  const state = answered === 'running' && isClientCall(event) ? 'waiting_for_client' : answered
  const common = { event, outcome, state } as const
  if (actionIs(action, 'TerminalAction')) return <TerminalTool {...common} action={action} />
  if (actionIs(action, 'ApplyPatchAction')) return <PatchTool {...common} action={action} />
  if (actionIs(action, 'GlobAction') || actionIs(action, 'GrepAction'))
    return <SearchTool {...common} action={action} />
  if (actionIs(action, 'InvokeSkillAction')) return <SkillTool {...common} action={action} />
  if (actionIs(action, 'ThinkAction')) return <ThinkTool {...common} action={action} />
  if (actionIs(action, 'FinishAction')) return <FinishTool {...common} action={action} />
  if (actionIs(action, 'TaskTrackerAction')) return <TaskTrackerTool {...common} action={action} />
  if (actionIs(action, 'TaskAction')) return <TaskTool {...common} action={action} />
  const file = fileCall(action)
  if (file !== null) return <FileTool {...common} call={file} />
  const browser = browserCall(action)
  if (browser !== null) return <BrowserTool {...common} call={browser} />
  const cell = cellCall(event)
  if (cell !== null) return <NotebookTool {...common} call={cell} />
  const note = noteCall(event)
  if (note !== null) return <MemoryTool {...common} call={note} />
  return <GenericTool {...common} action={action ?? null} />
}
