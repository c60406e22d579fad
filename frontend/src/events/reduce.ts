/**
 * The browser's fold of a conversation: frames in, view state out. Pure, so that recorded streams test it.
 *
 * Positions decide everything. A durable frame counts once, whatever is sent again after a reconnect; how a
 * stream was cut into batches never shows in the result. A batch copies each list it touches once.
 */
import { eventIs } from './types'
import type { AppConversation, ExecutionStatus, StartTask } from '@/api/types'
import type { ConversationEvent, EventOf, Frame, Outcome, Retry, UsageMetrics } from './types'

/** One row of the timeline: a single event, or an action together with what answered it. */
export type TimelineItem =
  | { type: 'event'; seq: number; event: ConversationEvent }
  | {
      type: 'tool'
      seq: number
      action: EventOf<'ActionEvent'>
      outcome: Outcome | null
      outcomeSeq: number | null
    }

/** A reply that is being written; the durable event with the same id takes its place. */
export interface StreamingItem {
  id: string
  attempt: number
  nextOrder: number
  text: string
  reasoning: string
  /** Pieces were missed (we connected in the middle); the durable event brings the whole text. */
  hasGap: boolean
  /** Came before the last reconnect: it may have ended while we were away. */
  isStale: boolean
}

export interface ConversationView {
  /** Position of the last event folded in; the stream resumes after it. */
  lastSeq: number
  /** End of the replay that is under way; the history is complete once `lastSeq` reaches it. */
  throughSeq: number | null
  items: readonly TimelineItem[]
  /** Actions without an answer yet: id of the action event → index in `items`. */
  openActions: ReadonlyMap<string, number>
  streaming: readonly StreamingItem[]
  /** The model could not be asked and will be again. `at`: when, in milliseconds since the epoch. */
  retry: { reason: Retry; at: number } | null
  startTask: StartTask | null
  conversation: AppConversation | null
  /** What the log itself last said about the run, and where. */
  loggedStatus: { value: ExecutionStatus; seq: number; since: string } | null
  usage: UsageMetrics | null
  /** Position of the last event that may have changed files: the change list is refetched when it moves. */
  filesTouchedSeq: number
  /** Ids of the latest agent events, so that a repeated delta does not revive a reply that has ended. */
  endedItems: readonly string[]
}

export const emptyView: ConversationView = {
  lastSeq: 0,
  throughSeq: null,
  items: [],
  openActions: new Map(),
  streaming: [],
  retry: null,
  startTask: null,
  conversation: null,
  loggedStatus: null,
  usage: null,
  filesTouchedSeq: 0,
  endedItems: [],
}

const REMEMBERED_ENDED_ITEMS = 16

type Draft = { -readonly [K in keyof ConversationView]: ConversationView[K] } & {
  items: TimelineItem[]
  openActions: Map<string, number>
}

/**
 * The view after `frames`; the view given is left as it was. Durable frames that leave a gap are ignored.
 * `now` is when the frames arrived: what they announce in seconds counts from there.
 */
export function fold(view: ConversationView, frames: readonly Frame[], now = Date.now()): ConversationView {
  if (frames.length === 0) return view
  const hasEvents = frames.some((frame) => frame.type === 'durable' && frame.seq > view.lastSeq)
  const draft = {
    ...view,
    // Deltas come up to sixty times a second: they must not copy a long history.
    items: (hasEvents ? [...view.items] : view.items) as TimelineItem[],
    openActions: (hasEvents ? new Map(view.openActions) : view.openActions) as Map<string, number>,
  }
  for (const frame of frames) apply(draft, frame, now)
  return draft
}

function apply(draft: Draft, frame: Frame, now: number): void {
  switch (frame.type) {
    case 'sync':
      draft.throughSeq = frame.through_seq
      draft.retry = null
      draft.streaming = draft.streaming.map((item) => ({ ...item, isStale: true }))
      return
    case 'durable':
      if (frame.seq === draft.lastSeq + 1) applyEvent(draft, frame.seq, frame.event)
      return
    case 'item_started':
      draft.retry = null
      startItem(draft, frame.item_id, frame.attempt)
      return
    case 'delta':
      applyDelta(draft, frame)
      return
    case 'item_aborted':
      draft.streaming = draft.streaming.filter(
        (item) => item.id !== frame.item_id || item.attempt > frame.attempt,
      )
      draft.retry = frame.retry ? { reason: frame.retry, at: now + frame.retry.wait_seconds * 1000 } : null
      return
    case 'start_task':
      draft.startTask = frame.task
      return
    case 'conversation':
      draft.conversation = frame.conversation
      return
    case 'transient':
    case 'error':
    default: // a newer server may send more than we know
      return
  }
}

// --- durable events ----------------------------------------------------------------------------

function applyEvent(draft: Draft, seq: number, event: ConversationEvent): void {
  draft.lastSeq = seq
  if (event.source === 'agent') endStreaming(draft, event.id)
  if (endsRetry(event)) draft.retry = null
  if (eventIs(event, 'ConversationStateUpdateEvent')) applyStateUpdate(draft, seq, event)
  if (mayTouchFiles(event)) draft.filesTouchedSeq = seq
  place(draft, seq, event)
}

/** What is said, renamed or counted meanwhile leaves the agent waiting; anything else shows that it has gone on. */
function endsRetry(event: ConversationEvent): boolean {
  if (eventIs(event, 'ConversationStateUpdateEvent'))
    return event.key === 'execution_status' || event.key === 'full_state'
  return event.source !== 'user'
}

function place(draft: Draft, seq: number, event: ConversationEvent): void {
  if (eventIs(event, 'ActionEvent')) {
    draft.openActions.set(event.id, draft.items.length)
    draft.items.push({ type: 'tool', seq, action: event, outcome: null, outcomeSeq: null })
    return
  }
  const actionId = answeredAction(draft, event)
  const index = actionId === null ? undefined : draft.openActions.get(actionId)
  const item = index === undefined ? undefined : draft.items[index]
  if (actionId === null || index === undefined || item?.type !== 'tool') {
    draft.items.push({ type: 'event', seq, event })
    return
  }
  draft.items[index] = { ...item, outcome: event as Outcome, outcomeSeq: seq }
  draft.openActions.delete(actionId)
}

/** Id of the open action that `event` answers. Agent errors name only the tool call. */
function answeredAction(draft: Draft, event: ConversationEvent): string | null {
  if (eventIs(event, 'ObservationEvent') || eventIs(event, 'UserRejectObservation')) return event.action_id
  if (!eventIs(event, 'AgentErrorEvent')) return null
  for (const [id, index] of draft.openActions) {
    const item = draft.items[index]
    if (item?.type === 'tool' && item.action.tool_call_id === event.tool_call_id) return id
  }
  return null
}

function applyStateUpdate(draft: Draft, seq: number, event: EventOf<'ConversationStateUpdateEvent'>): void {
  const values = event.key === 'full_state' ? asRecord(event.value) : { [event.key]: event.value }
  const status = values['execution_status']
  if (isExecutionStatus(status)) {
    const hasChanged = draft.loggedStatus?.value !== status
    const since = hasChanged ? event.timestamp : (draft.loggedStatus?.since ?? event.timestamp)
    draft.loggedStatus = { value: status, seq, since }
    if (status !== 'running') draft.streaming = []
  }
  const usage = sumUsage(asRecord(values['stats'])['usage_to_metrics'])
  if (usage !== null) draft.usage = usage
}

const EXECUTION_STATUSES: readonly string[] = [
  'idle',
  'running',
  'paused',
  'waiting_for_confirmation',
  'finished',
  'error',
  'stuck',
  'deleting',
] satisfies ExecutionStatus[]

function isExecutionStatus(value: unknown): value is ExecutionStatus {
  return typeof value === 'string' && EXECUTION_STATUSES.includes(value)
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

/** The log counts per use of a model (agent, condenser, title …); people want the sum. */
function sumUsage(usageToMetrics: unknown): UsageMetrics | null {
  const all = Object.values(asRecord(usageToMetrics)).map(asRecord)
  if (all.length === 0) return null
  const tokens = all.map((metrics) => asRecord(metrics['accumulated_token_usage']))
  const total = (records: Record<string, unknown>[], key: string) =>
    records.reduce((sum, record) => sum + (typeof record[key] === 'number' ? record[key] : 0), 0)
  return {
    accumulated_cost: total(all, 'accumulated_cost'),
    accumulated_token_usage: {
      prompt_tokens: total(tokens, 'prompt_tokens'),
      completion_tokens: total(tokens, 'completion_tokens'),
      cache_read_tokens: total(tokens, 'cache_read_tokens'),
    },
  }
}

const READ_ONLY_OBSERVATIONS = new Set([
  'ThinkObservation',
  'FinishObservation',
  'TaskTrackerObservation',
  'GlobObservation',
  'GrepObservation',
  'ReadFileObservation',
  'ListDirectoryObservation',
  'InvokeSkillObservation',
])

function mayTouchFiles(event: ConversationEvent): boolean {
  if (!eventIs(event, 'ObservationEvent')) return false
  const { kind, command } = event.observation as { kind: string; command?: unknown }
  if (kind === 'FileEditorObservation' || kind === 'PlanningFileEditorObservation') return command !== 'view'
  return !READ_ONLY_OBSERVATIONS.has(kind)
}

// --- streaming replies -------------------------------------------------------------------------

function newItem(id: string, attempt: number, firstOrder: number): StreamingItem {
  return {
    id,
    attempt,
    nextOrder: firstOrder,
    text: '',
    reasoning: '',
    hasGap: firstOrder > 0,
    isStale: false,
  }
}

function startItem(draft: Draft, id: string, attempt: number): void {
  if (draft.endedItems.includes(id)) return
  const known = draft.streaming.find((item) => item.id === id)
  if (known !== undefined && known.attempt >= attempt) return
  const others = draft.streaming.filter((item) => item.id !== id && !item.isStale)
  draft.streaming = [...others, newItem(id, attempt, 0)]
}

function applyDelta(draft: Draft, delta: Extract<Frame, { type: 'delta' }>): void {
  if (draft.endedItems.includes(delta.item_id)) return
  const known = draft.streaming.find((item) => item.id === delta.item_id)
  if (known !== undefined && delta.attempt < known.attempt) return
  const isSameAttempt = known?.attempt === delta.attempt
  const item = isSameAttempt ? known : newItem(delta.item_id, delta.attempt, delta.order)
  if (delta.order < item.nextOrder) return
  const next: StreamingItem = {
    ...item,
    [delta.kind]: item[delta.kind] + delta.content,
    nextOrder: delta.order + 1,
    hasGap: item.hasGap || delta.order > item.nextOrder,
    isStale: false,
  }
  draft.streaming =
    known === undefined
      ? [...draft.streaming, next]
      : draft.streaming.map((each) => (each === known ? next : each))
}

/** A durable agent event ends the reply of its id, and any older one whose end we missed. */
function endStreaming(draft: Draft, id: string): void {
  draft.endedItems = [...draft.endedItems, id].slice(-REMEMBERED_ENDED_ITEMS)
  if (draft.streaming.length === 0) return
  draft.streaming = draft.streaming.filter((item) => item.id !== id && !item.isStale)
}
