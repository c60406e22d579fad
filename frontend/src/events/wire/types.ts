/**
 * The wire as the browser reads it: frames of the live stream and the events they carry.
 * Kinds that are not listed here are legal (the protocol grows); they keep their raw body and are shown as such.
 */

import type { BrowserActionByKind } from './browser-actions'
import type { LiveOutput, TextStyle } from '@/events/fold/output'
import type { Retry } from '@/events/fold/retry'
import type { AppConversation, MessageContent, StartTask, TextContent } from '@/api/types'

interface EventCommon {
  id: string
  timestamp: string
  source: string
  /** The event before it, as the conversation went; it may have gone back since. */
  parent_id?: string | null
}

// --- actions -----------------------------------------------------------------------------------

export type FileCommand = 'view' | 'create' | 'str_replace' | 'insert' | 'undo_edit'

export interface PlannedTask {
  title: string
  notes?: string
  status: 'todo' | 'in_progress' | 'done'
}

interface FileEditorAction {
  kind: 'FileEditorAction'
  command: FileCommand
  path: string
  file_text?: string | null
  old_str?: string | null
  new_str?: string | null
  insert_line?: number | null
  view_range?: number[] | null
}

export interface ActionByKind extends BrowserActionByKind {
  TerminalAction: {
    kind: 'TerminalAction'
    command: string
    is_input?: boolean
    reset?: boolean
    timeout?: number | null
  }
  FileEditorAction: FileEditorAction
  ThinkAction: { kind: 'ThinkAction'; thought: string }
  FinishAction: { kind: 'FinishAction'; message: string }
  TaskTrackerAction: { kind: 'TaskTrackerAction'; command: string; task_list?: PlannedTask[] }
  PlanningFileEditorAction: Omit<FileEditorAction, 'kind'> & { kind: 'PlanningFileEditorAction' }
  ReadFileAction: { kind: 'ReadFileAction'; file_path: string; offset?: number | null; limit?: number | null }
  WriteFileAction: { kind: 'WriteFileAction'; file_path: string; content: string }
  EditAction: { kind: 'EditAction'; file_path: string; old_string: string; new_string: string }
  ListDirectoryAction: { kind: 'ListDirectoryAction'; dir_path?: string; recursive?: boolean }
  ApplyPatchAction: { kind: 'ApplyPatchAction'; patch: string }
  GlobAction: { kind: 'GlobAction'; pattern: string; path?: string | null }
  GrepAction: { kind: 'GrepAction'; pattern: string; path?: string | null; include?: string | null }
  InvokeSkillAction: { kind: 'InvokeSkillAction'; name: string }
  MCPToolAction: { kind: 'MCPToolAction'; data: Record<string, unknown> }
  TaskAction: {
    kind: 'TaskAction'
    prompt: string
    description?: string | null
    subagent_type?: string
    resume?: string | null
  }
}

export type OtherBody = { kind: string } & Record<string, unknown>
export type Action = ActionByKind[keyof ActionByKind] | OtherBody

export function actionIs<K extends keyof ActionByKind>(
  action: Action | null | undefined,
  kind: K,
): action is ActionByKind[K] {
  return action?.kind === kind
}

/** What a look at an action found before it ran. */
export interface SecurityDetails {
  reasons?: string[]
  /** Whether it is one that the user has to be asked about. */
  asks?: boolean
}

// --- observations ------------------------------------------------------------------------------

interface ObservationCommon {
  content: MessageContent[]
  is_error?: boolean
}

export interface ObservationByKind {
  TerminalObservation: ObservationCommon & {
    kind: 'TerminalObservation'
    command: string | null
    exit_code?: number | null
    timeout?: boolean
    metadata?: {
      working_dir?: string | null
      suffix?: string
      prefix?: string
      styles?: readonly TextStyle[] | null
    }
  }
  FileEditorObservation: ObservationCommon & {
    kind: 'FileEditorObservation'
    command: FileCommand
    path?: string | null
    prev_exist?: boolean
    old_content?: string | null
    new_content?: string | null
  }
  TaskTrackerObservation: ObservationCommon & { kind: 'TaskTrackerObservation'; task_list?: PlannedTask[] }
  ApplyPatchObservation: ObservationCommon & {
    kind: 'ApplyPatchObservation'
    /** What was done, by path as the patch names it; null where nothing was. */
    commit?: { changes: Record<string, PatchedFile> } | null
  }
  GlobObservation: ObservationCommon & { kind: 'GlobObservation'; files: string[]; truncated?: boolean }
  /** The first lines of its text are `URL: …` and `Title: …`. */
  BrowserObservation: ObservationCommon & { kind: 'BrowserObservation' }
  GrepObservation: ObservationCommon & { kind: 'GrepObservation'; matches: string[]; truncated?: boolean }
}

export interface PatchedFile {
  type: 'add' | 'delete' | 'update'
  old_content?: string | null
  new_content?: string | null
  move_path?: string | null
}

export type Observation = ObservationByKind[keyof ObservationByKind] | (ObservationCommon & OtherBody)

export function observationIs<K extends keyof ObservationByKind>(
  observation: Observation | null | undefined,
  kind: K,
): observation is ObservationByKind[K] {
  return observation?.kind === kind
}

// --- events ------------------------------------------------------------------------------------

export interface ErrorClassification {
  kind: string
  retryable: boolean
  user_action: string | null
}

/** What a critic makes of the work: how likely it is to be a success, from 0 to 1, and why. */
export interface CriticResult {
  score: number
  message: string
}

export interface TokenUsage {
  prompt_tokens: number
  completion_tokens: number
  cache_read_tokens?: number
  /** Of the agent's own model: how much it can take, and how much its last call has used. */
  context_window?: number
  per_turn_token?: number
}

export interface UsageMetrics {
  accumulated_cost: number
  max_budget_per_task?: number | null
  accumulated_token_usage?: TokenUsage | null
}

export interface EventByKind {
  MessageEvent: EventCommon & {
    kind: 'MessageEvent'
    llm_response_id?: string | null
    llm_message: { role: string; content: MessageContent[]; reasoning_content?: string | null }
    activated_skills?: string[]
    /** Who wrote it; null: the owner of the conversation. */
    sender?: string | null
    critic_result?: CriticResult | null
    extended_content?: TextContent[]
  }
  ActionEvent: EventCommon & {
    kind: 'ActionEvent'
    tool_name: string
    tool_call_id: string
    /** Actions of one reply share it. */
    llm_response_id?: string | null
    thought: TextContent[]
    reasoning_content?: string | null
    action?: Action | null
    tool_call?: { name: string; arguments: string }
    summary?: string | null
    security_risk?: string
    critic_result?: CriticResult | null
  }
  ObservationEvent: EventCommon & {
    kind: 'ObservationEvent'
    tool_name: string
    action_id: string
    observation: Observation
    /** What was added for the model's eyes: rules for the paths that the call touched. */
    extended_content?: TextContent[]
  }
  AgentErrorEvent: EventCommon & {
    kind: 'AgentErrorEvent'
    tool_name: string
    tool_call_id: string
    error: string
    classification?: ErrorClassification | null
  }
  SecurityAnalysisEvent: EventCommon & {
    kind: 'SecurityAnalysisEvent'
    /** By the id of the action's event. */
    risks: Record<string, string>
    details: Record<string, SecurityDetails>
  }
  UserRejectObservation: EventCommon & {
    kind: 'UserRejectObservation'
    tool_name: string
    action_id: string
    rejection_reason: string
    rejection_source?: 'user' | 'hook'
  }
  HookExecutionEvent: EventCommon & {
    kind: 'HookExecutionEvent'
    hook_event_type: string
    hook_command: string
    tool_name?: string | null
    success: boolean
    blocked?: boolean
    exit_code: number
    stdout?: string
    stderr?: string
    reason?: string | null
    additional_context?: string | null
    /** Why it came to no verdict. */
    error?: string | null
  }
  ConversationErrorEvent: EventCommon & {
    kind: 'ConversationErrorEvent'
    code: string
    detail: string
    classification?: ErrorClassification | null
  }
  ConversationStateUpdateEvent: EventCommon & {
    kind: 'ConversationStateUpdateEvent'
    key: string
    value: unknown
  }
  Condensation: EventCommon & {
    kind: 'Condensation'
    forgotten_event_ids: string[]
    summary?: string | null
  }
  PauseEvent: EventCommon & { kind: 'PauseEvent' }
  InterruptEvent: EventCommon & { kind: 'InterruptEvent' }
}

export type EventOf<K extends keyof EventByKind> = EventByKind[K]
export type OtherEvent = EventCommon & OtherBody
export type ConversationEvent = EventByKind[keyof EventByKind] | OtherEvent

/** What answers an action: exactly one of these follows it in the log. */
export type Outcome =
  EventOf<'ObservationEvent'> | EventOf<'AgentErrorEvent'> | EventOf<'UserRejectObservation'>

export function eventIs<K extends keyof EventByKind>(
  event: ConversationEvent | null | undefined,
  kind: K,
): event is EventByKind[K] {
  return event?.kind === kind
}

// --- frames ------------------------------------------------------------------------------------

export type Frame =
  | { type: 'sync'; from_seq: number; through_seq: number }
  | { type: 'durable'; seq: number; event: ConversationEvent }
  | { type: 'item_started'; item_id: string; attempt: number }
  | {
      type: 'delta'
      item_id: string
      attempt: number
      order: number
      kind: 'text' | 'reasoning'
      content: string
    }
  | { type: 'item_aborted'; item_id: string; attempt: number; reason: string; retry?: Retry | null }
  | { type: 'output'; outputs: readonly LiveOutput[] }
  | { type: 'transient'; event: ConversationEvent }
  | { type: 'start_task'; task: StartTask }
  | { type: 'conversation'; conversation: AppConversation }
  /** Something new of the network was refused: ask what. */
  | { type: 'network' }
  | { type: 'error'; code: string; detail: string }
