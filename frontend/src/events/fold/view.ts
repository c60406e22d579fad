/** The data that the page has about a conversation: the result of the fold (reduce.ts). */
import type { GoalStep, PursuedGoal } from './goal'
import type { McpChange } from './mcp-changes'
import type { McpQuestion } from './mcp-questions'
import type { Outputs } from './output'
import type { Placed } from './rewind'
import type { Sight } from './sight'
import type { StreamingItem } from './streaming'
import type { HandedTask } from './tasks'
import type { ConversationEvent, EventOf, Outcome, Retry, UsageMetrics } from '@/events/wire/types'
import type { UnreadMessage } from './unread'
import type { AppConversation, ExecutionStatus, StartTask } from '@/api/types'

/** One row of the timeline: a single event, a step of a goal, or an action together with what answered it. */
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
  /** Position of the first event that is known; those before it are loaded on demand. */
  firstSeq: number
  /** Actions from before `firstSeq` that had no answer when the window was opened. */
  earlierActions: readonly Placed[]
  /** Position of the last event folded in; the stream resumes after it. */
  lastSeq: number
  /** End of the replay that is under way; the history is complete once `lastSeq` reaches it. */
  throughSeq: number | null
  items: readonly TimelineItem[]
  /** Ids of events whose long texts are shown without their middle. */
  shortened: ReadonlySet<string>
  /** Every event from `firstSeq` on, also those that were left behind by going back. */
  history: readonly Placed[]
  /** Actions without an answer yet: id of the action event → index in `items`. */
  openActions: ReadonlyMap<string, number>
  streaming: readonly StreamingItem[]
  /** What open actions have printed so far: id of the action event → the end of it. */
  outputs: Outputs
  /** Messages of the user that the agent has not read yet. */
  unread: readonly UnreadMessage[]
  /** The model could not be asked and will be again. `at`: when, in milliseconds since the epoch. */
  retry: { reason: Retry; at: number } | null
  startTask: StartTask | null
  conversation: AppConversation | null
  /** How often the stream has said that something new of the network was refused. */
  networkTold: number
  /** What the log itself last said about the run, and where. */
  loggedStatus: { value: ExecutionStatus; seq: number; since: string } | null
  usage: UsageMetrics | null
  /** Gone once the user has said something after its end. */
  goal: PursuedGoal | null
  /** Work that sub-agents do: id of the action event that handed it over → how it stands. */
  tasks: ReadonlyMap<string, HandedTask>
  /** Position of the last word about when the agent asks first; 0: as the conversation began. */
  askingChangedSeq: number
  /** Tools of MCP servers that are not as they were approved. */
  mcpChanges: readonly McpChange[]
  /** What MCP servers wait for in the middle of a call. */
  mcpQuestions: readonly McpQuestion[]
  /** Position of the last event that may have changed files: the change list is refetched when it moves. */
  filesTouchedSeq: number
  /** Null until the agent has used a browser. */
  sight: Sight | null
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
  networkTold: 0,
  loggedStatus: null,
  usage: null,
  goal: null,
  tasks: new Map(),
  askingChangedSeq: 0,
  mcpChanges: [],
  mcpQuestions: [],
  filesTouchedSeq: 0,
  sight: null,
  endedItems: [],
}
