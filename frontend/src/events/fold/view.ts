/** The data that the page has about a conversation: the result of the fold (reduce.ts). */
import type { GoalStep, PursuedGoal } from './goal'
import type { McpChange } from './mcp-changes'
import type { McpQuestion } from './mcp-questions'
import type { Outputs } from './output'
import type { PositionedEvent } from './rewind'
import type { AgentBrowser } from './agent-browser'
import type { StreamingItem } from './streaming'
import type { DelegatedTask } from './tasks'
import type { ConversationEvent, EventOf, Outcome, Retry, UsageMetrics } from '@/events/wire/types'
import type { UnreadMessage } from './unread'
import type { AppConversation, ExecutionStatus, StartTask } from '@/api/types'

/** One row of the timeline: a single event, a step of a goal, or an action with its answer. */
export type TimelineItem =
  | { type: 'event'; seq: number; event: ConversationEvent }
  | { type: 'goal'; seq: number; event: ConversationEvent; goal: PursuedGoal; step: GoalStep }
  | {
      type: 'tool'
      seq: number
      action: EventOf<'ActionEvent'>
      outcome: Outcome | null
      outcomeSeq: number | null
    }

export interface ConversationView {
  /** Position of the first known event. Earlier events are loaded on demand. */
  firstSeq: number
  /** Actions before `firstSeq` that had no answer when the window was opened. */
  earlierActions: readonly PositionedEvent[]
  /** Position of the last folded event. The stream resumes after it. */
  lastSeq: number
  /**
   * The last position of the replay that is being received. The history is complete when `lastSeq` reaches
   * it.
   */
  throughSeq: number | null
  items: readonly TimelineItem[]
  /** Ids of events with long texts that are shown without their middle. */
  shortened: ReadonlySet<string>
  /** Every event from `firstSeq` on, also events of old branches that were left by going back. */
  history: readonly PositionedEvent[]
  /**
   * Actions without an answer yet. The key is the id of the action event, and the value is the index in
   * `items`.
   */
  openActions: ReadonlyMap<string, number>
  streaming: readonly StreamingItem[]
  /** The end of the output of open actions, by the id of the action event. */
  outputs: Outputs
  /** Messages of the user that the agent has not read yet. */
  unread: readonly UnreadMessage[]
  /**
   * Set while the model could not be called and will be called again. `at` is the time of the next attempt,
   * in milliseconds since the epoch.
   */
  retry: { reason: Retry; at: number } | null
  startTask: StartTask | null
  conversation: AppConversation | null
  /** The number of newly refused network requests that the stream has reported. */
  refusedRequestReports: number
  /** The last execution status in the log, with its position and time. */
  loggedStatus: { value: ExecutionStatus; seq: number; since: string } | null
  usage: UsageMetrics | null
  /** The current goal. Null after the goal has ended and the user has sent another message. */
  goal: PursuedGoal | null
  /** The tasks of sub-agents, by the id of the action event that handed the task over. */
  tasks: ReadonlyMap<string, DelegatedTask>
  /**
   * Position of the last change of the confirmation mode. 0 means that it has not changed since the
   * conversation began.
   */
  confirmationModeChangedSeq: number
  /** Tools of MCP servers that differ from their approved versions. */
  mcpChanges: readonly McpChange[]
  /** The questions that MCP servers ask during calls and that wait for an answer. */
  mcpQuestions: readonly McpQuestion[]
  /**
   * Position of the last event that may have changed files. When it changes, the list of changes is loaded
   * again.
   */
  filesTouchedSeq: number
  /** The state of the agent's browser. Null until the agent has used a browser. */
  agentBrowser: AgentBrowser | null
  /** Ids of the latest agent events, so that a repeated delta does not revive a reply that has ended. */
  endedItems: readonly string[]
}

export const emptyView: ConversationView = {
  firstSeq: 1,
  earlierActions: [],
  shortened: new Set(),
  lastSeq: 0,
  throughSeq: null,
  items: [],
  history: [],
  openActions: new Map(),
  streaming: [],
  outputs: new Map(),
  unread: [],
  retry: null,
  startTask: null,
  conversation: null,
  refusedRequestReports: 0,
  loggedStatus: null,
  usage: null,
  goal: null,
  tasks: new Map(),
  confirmationModeChangedSeq: 0,
  mcpChanges: [],
  mcpQuestions: [],
  filesTouchedSeq: 0,
  agentBrowser: null,
  endedItems: [],
}
