/**
 * The data of the wire as the browser reads it: frames of the live stream and their events. Unknown kinds are
 * allowed, because the protocol grows. The page shows them as raw data.
 */

import type { AppConversation, MessageContent, StartTask } from '@/api/types'
import type { components } from './schema.gen'

/**
 * The types of the runtime's events, by their names in the runtime's schema. `npm run generate` makes them.
 */
type Schemas = components['schemas']

/**
 * Makes fields required that are optional in the runtime because they have a default. `well-formed.ts` checks
 * that they exist.
 */
type With<T, Field extends keyof T> = T & Required<Pick<T, Field>>

// --- actions -----------------------------------------------------------------------------------

export type ActionByKind = { [Known in Schemas['Action'] as Known['kind']]: Known }
export type FileCommand = Schemas['FileEditorAction']['command']
export type PlannedTask = Schemas['TaskItem']

export type OtherBody = { kind: string } & Record<string, unknown>
export type Action = ActionByKind[keyof ActionByKind] | OtherBody

export function actionIs<K extends keyof ActionByKind>(
  action: Action | null | undefined,
  kind: K,
): action is ActionByKind[K] {
  return action?.kind === kind
}

/** The findings of the security analysis of an action. */
export interface SecurityDetails {
  reasons?: string[]
  /** Whether the user must be asked about this action. */
  asks?: boolean
}

// --- observations ------------------------------------------------------------------------------

interface ObservationCommon {
  content: MessageContent[]
  is_error?: boolean
}

export type ObservationByKind = {
  [Known in Schemas['Observation'] as Known['kind']]: Known & ObservationCommon
}
export type PatchedFile = Schemas['FileChange']

export type Observation = ObservationByKind[keyof ObservationByKind] | (ObservationCommon & OtherBody)

export function observationIs<K extends keyof ObservationByKind>(
  observation: Observation | null | undefined,
  kind: K,
): observation is ObservationByKind[K] {
  return observation?.kind === kind
}

// --- events ------------------------------------------------------------------------------------

/** Accepts any text in place of the known words, because a later agent server may use other words. */
type Worded<T> = { [Field in keyof T]: T[Field] extends string ? string : T[Field] }
export type ErrorClassification = Worded<Schemas['ErrorClassification']>

/** A critic's judgement of the work: how likely it is a success, from 0 to 1, and the reason. */
export type CriticResult = Schemas['CriticResult']

/** Token usage in state updates. The runtime's schema does not define the payload of updates. */
export interface TokenUsage {
  prompt_tokens: number
  completion_tokens: number
  cache_read_tokens?: number
  /**
   * For the agent's model: the size of its context, and the part of the context that the last call has used.
   */
  context_window?: number
  per_turn_token?: number
}

export interface UsageMetrics {
  accumulated_cost: number
  max_budget_per_task?: number | null
  accumulated_token_usage?: TokenUsage | null
}

/**
 * The differences from the runtime's schema: payloads that the schema does not define, and fields that
 * `well-formed.ts` requires.
 */
interface Read {
  MessageEvent: { llm_message: With<Schemas['Message'], 'content'> }
  ActionEvent: {
    thought: Schemas['TextContent'][]
    action?: Action | null
    llm_response_id?: string | null
    tool_call?: Pick<Schemas['ToolCall'], 'name' | 'arguments'>
  }
  ObservationEvent: { observation: Observation; tool_call_id?: string }
  UserRejectObservation: { tool_call_id?: string }
  AgentErrorEvent: { classification?: ErrorClassification | null }
  ConversationErrorEvent: { classification?: ErrorClassification | null }
  ConversationStateUpdateEvent: { value: unknown }
  SecurityAnalysisEvent: { details: Record<string, SecurityDetails> }
  Condensation: { forgotten_event_ids: string[] }
}

type RefinedFields<Kind> = (Kind extends keyof Read ? Read[Kind] : unknown) & { source: string }

export type EventByKind = {
  [Known in Schemas['Event'] as Known['kind']]: Omit<Known, keyof RefinedFields<Known['kind']>> &
    RefinedFields<Known['kind']>
}

export type EventOf<K extends keyof EventByKind> = EventByKind[K]
type EventCommon = Pick<Schemas['PauseEvent'], 'id' | 'timestamp' | 'parent_id'> & { source: string }
export type OtherEvent = EventCommon & OtherBody
export type ConversationEvent = EventByKind[keyof EventByKind] | OtherEvent

/** The events that answer an action. Exactly one of them follows each action in the log. */
export type Outcome =
  EventOf<'ObservationEvent'> | EventOf<'AgentErrorEvent'> | EventOf<'UserRejectObservation'>

export function eventIs<K extends keyof EventByKind>(
  event: ConversationEvent | null | undefined,
  kind: K,
): event is EventByKind[K] {
  return event?.kind === kind
}

// --- frames ------------------------------------------------------------------------------------

/** The end of the output of a running call. */
export type LiveOutput = Schemas['CallOutput']

/**
 * The position of the first character, the position after the last character, and the terminal's style, such
 * as `1;31`.
 */
export type TextStyle = LiveOutput['styles'][number]

/**
 * The reason why a model could not be called, the model that is called next, and the seconds until then. The
 * seconds count from the arrival of the frame.
 */
export type Retry = Schemas['PendingRetry']

export type ErrorFrame = Schemas['ErrorFrame']

/** One event of the log at its position. `blobs` are large parts of the event that are stored beside it. */
export interface DurableFrame {
  type: 'durable'
  seq: number
  event: ConversationEvent
  blobs?: readonly { media_type: string }[]
}

/**
 * Sent if the stream begins in the middle of the log. `state` has the earlier events that make up the folded
 * state.
 */
export interface WindowFrame {
  type: 'window'
  first_seq: number
  last_seq: number
  state: readonly DurableFrame[]
}

/**
 * The frames of the agent server, and the frames that the app server adds. `network` reports a newly refused
 * request.
 */
export type Frame =
  | Exclude<Schemas['Frame'], { event: unknown }>
  | WindowFrame
  | DurableFrame
  | { type: 'transient'; event: ConversationEvent }
  | { type: 'start_task'; task: StartTask }
  | { type: 'conversation'; conversation: AppConversation }
  | { type: 'network' }
