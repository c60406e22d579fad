/**
 * The agent's current status as one word. It is computed from the start, the sandbox, the log and the
 * connection.
 */
import {
  conversationStatus,
  statusPartsOf,
  type ConversationStatus,
  type StatusParts,
} from '@/api/conversations/conversation-status'
import type { AppConversation } from '@/api/types'
import type { ConversationState } from './store'
import type { EventOf } from '@/events/wire/types'

export type AgentStatus = ConversationStatus

/** The statuses in which the agent has stopped and can continue without a further change. */
export const CAN_CONTINUE: ReadonlySet<AgentStatus> = new Set<AgentStatus>(['paused', 'error', 'stuck'])

/**
 * Returns only the status. `runningSince` and the connection are separate, so that selectors return plain
 * values.
 */
export function agentStatus(state: ConversationState): AgentStatus {
  return conversationStatus(agentStatusParts(state))
}

/** Returns the facts that decide the status. Returns a new object each time, so it is not a selector. */
export function agentStatusParts({ view }: ConversationState): StatusParts {
  const { conversation, startTask } = view
  const start = newestStartStatus(view)
  if (conversation !== null) {
    return { ...statusPartsOf(conversation), start, execution: executionStatus(view, conversation) }
  }
  const execution = startTask === null ? null : (view.loggedStatus?.value ?? null)
  return { start, sandbox: null, isSandboxLost: false, isImported: false, execution }
}

/**
 * Returns whether requests to the sandbox can succeed. A sandbox that sleeps or is archived refuses every
 * request.
 */
export function isAwake({ view }: ConversationState): boolean {
  return view.conversation?.sandbox_status === 'RUNNING'
}

/** Returns the ISO time since which the log says `running`. Returns null if the agent does not work. */
export function runningSince(state: ConversationState): string | null {
  if (agentStatus(state) !== 'running') return null
  const logged = state.view.loggedStatus
  return logged?.value === 'running' ? logged.since : null
}

export interface AwaitedAnswer {
  /** The names of the client's tools, the oldest call first. */
  tools: string
  /** The ISO time of the oldest call. */
  since: string
}

/**
 * Returns the calls that a client must answer before the agent continues. Returns null if the agent also
 * waits for something else.
 */
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

/**
 * Returns whether this is a call of one of the client's own tools. Such a call is open until the client
 * answers it.
 */
export function isClientCall({ action }: EventOf<'ActionEvent'>): boolean {
  return action?.kind.startsWith('ClientAction_') ?? false
}

/**
 * Returns the newest known status of the start. After a retry, the start task can be newer or older than the
 * conversation.
 */
function newestStartStatus({ conversation, startTask }: ConversationState['view']) {
  if (startTask === null) return conversation?.start_status ?? null
  if (conversation === null) return startTask.status
  return conversation.updated_at > startTask.updated_at ? conversation.start_status : startTask.status
}

/**
 * Returns the execution status. The log and the app server may differ for a short time. The newer of the two
 * is used.
 */
function executionStatus({ loggedStatus }: ConversationState['view'], conversation: AppConversation) {
  const isLogNewer = loggedStatus !== null && loggedStatus.seq > conversation.last_seq
  return isLogNewer ? loggedStatus.value : conversation.execution_status
}
