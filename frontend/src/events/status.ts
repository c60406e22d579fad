/** What the agent is doing now, as one word: decided from the start, the sandbox, the log and the connection. */
import type { AppConversation, ExecutionStatus } from '@/api/types'
import type { ConversationState } from './store'
import type { EventOf } from './types'

export type AgentStatus =
  | 'loading'
  | 'starting'
  | 'start_failed'
  | 'sandbox_starting'
  | 'sandbox_asleep'
  | 'sandbox_archived'
  | 'sandbox_failed'
  | 'sandbox_gone'
  | 'sandbox_lost'
  | ExecutionStatus

/** Where the agent has stopped short and can be told to go on as it is. */
export const CAN_CONTINUE: ReadonlySet<AgentStatus> = new Set<AgentStatus>(['paused', 'error', 'stuck'])

/** The status itself; `agentStatusSince` and the connection are kept apart so that selectors return plain values. */
export function agentStatus({ view }: ConversationState): AgentStatus {
  const { conversation, startTask } = view
  const startStatus = newestStartStatus(view)
  if (startStatus === null) return 'loading'
  if (startStatus === 'ERROR') return 'start_failed'
  if (startStatus !== 'READY') return 'starting'
  if (conversation === null) return startTask === null ? 'loading' : (view.loggedStatus?.value ?? 'idle')
  return sandboxProblem(conversation) ?? executionStatus(view, conversation)
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

function sandboxProblem(conversation: AppConversation): AgentStatus | null {
  switch (conversation.sandbox_status) {
    case 'RUNNING':
      return null
    case 'STARTING':
      return 'sandbox_starting'
    case 'PAUSED':
      return 'sandbox_asleep'
    case 'ARCHIVED':
      return 'sandbox_archived'
    case 'ERROR':
      return 'sandbox_failed'
    case 'MISSING':
      return conversation.sandbox_error ? 'sandbox_lost' : 'sandbox_gone'
  }
}

/** Log and server tell the same story at different times: the one that has seen more of the log is right. */
function executionStatus({ loggedStatus }: ConversationState['view'], conversation: AppConversation) {
  const isLogNewer = loggedStatus !== null && loggedStatus.seq > conversation.last_seq
  return isLogNewer ? loggedStatus.value : (conversation.execution_status ?? 'idle')
}
