/** What the agent is doing now, as one word: decided from the start, the sandbox, the log and the connection. */
import {
  conversationStatus,
  standingOf,
  type ConversationStatus,
  type Standing,
} from '@/api/conversations/conversation-status'
import type { AppConversation } from '@/api/types'
import type { ConversationState } from './store'
import type { EventOf } from '@/events/wire/types'

export type AgentStatus = ConversationStatus

/** Where the agent has stopped short and can be told to go on as it is. */
export const CAN_CONTINUE: ReadonlySet<AgentStatus> = new Set<AgentStatus>(['paused', 'error', 'stuck'])

/** The status itself; `runningSince` and the connection are kept apart so that selectors return plain values. */
export function agentStatus(state: ConversationState): AgentStatus {
  return conversationStatus(agentStanding(state))
}

/** What the status is decided from. A new object each time: not a selector. */
export function agentStanding({ view }: ConversationState): Standing {
  const { conversation, startTask } = view
  const start = newestStartStatus(view)
  if (conversation !== null) {
    return { ...standingOf(conversation), start, execution: executionStatus(view, conversation) }
  }
  const execution = startTask === null ? null : (view.loggedStatus?.value ?? null)
  return { start, sandbox: null, isSandboxLost: false, isImported: false, execution }
}

/** Whether the sandbox can be asked at all: one that sleeps, or lies in an archive, refuses every request. */
export function isAwake({ view }: ConversationState): boolean {
  return view.conversation?.sandbox_status === 'RUNNING'
}

/** ISO time since which the log has said `running`; null when the agent is not at work. */
export function runningSince(state: ConversationState): string | null {
  if (agentStatus(state) !== 'running') return null
  const logged = state.view.loggedStatus
  return logged?.value === 'running' ? logged.since : null
}

export interface AwaitedAnswer {
  /** Names of the client's tools, the oldest call first. */
  tools: string
  /** ISO time of the oldest call. */
  since: string
}

/** What a client has to answer before the agent goes on; null unless it waits for nothing else. */
export function awaitedAnswer(state: ConversationState): AwaitedAnswer | null {
  const { items, openActions } = state.view
  if (openActions.size === 0 || agentStatus(state) !== 'running') return null
  const calls = [...openActions.values()].flatMap((index) => {
    const item = items[index]
    return item?.type === 'tool' ? [item.action] : []
  })
  const [first] = calls
  if (first === undefined || !calls.every(isClientCall)) return null
  return { tools: calls.map((call) => call.tool_name).join(', '), since: first.timestamp }
}

/** A call of a tool of the client's own: it is open only as long as the client owes the answer. */
export function isClientCall({ action }: EventOf<'ActionEvent'>): boolean {
  return action?.kind.startsWith('ClientAction_') ?? false
}

/** A retried start is known from its task before the conversation's own row follows, and the other way round. */
function newestStartStatus({ conversation, startTask }: ConversationState['view']) {
  if (startTask === null) return conversation?.start_status ?? null
  if (conversation === null) return startTask.status
  return conversation.updated_at > startTask.updated_at ? conversation.start_status : startTask.status
}

/** Log and server tell the same story at different times: the one that has seen more of the log is right. */
function executionStatus({ loggedStatus }: ConversationState['view'], conversation: AppConversation) {
  const isLogNewer = loggedStatus !== null && loggedStatus.seq > conversation.last_seq
  return isLogNewer ? loggedStatus.value : conversation.execution_status
}
