/**
 * Folds the frames of a conversation into the state of the view. Pure, so that tests can use recorded
 * streams.
 *
 * Only positions matter. A durable frame counts once, even if it is sent again after a reconnect. The result
 * does not depend on how a stream was split into batches. A batch copies each list that it changes only once.
 */
import { goalOf, goalStep, hasGoalEnded } from './goal'
import { restoredOf } from './restored'
import { branch, newLeaf, rewindOf, type PositionedEvent } from './rewind'
import { tasksOf } from './tasks'
import { agentBrowserAfter } from './agent-browser'
import { applyDelta, endStreaming, startItem } from './streaming'
import { shortenedAfter } from './shortened'
import { mayTouchFiles } from './touched-files'
import { mcpChangesOf } from './mcp-changes'
import { mcpQuestionsOf } from './mcp-questions'
import { outputsAfter, withoutOutput } from './output'
import { readable } from '@/events/wire/well-formed'
import { unreadAfter } from './unread'
import { asRecord, sumUsage } from './usage'
import { emptyView, type ConversationView, type TimelineItem } from './view'
import type { ExecutionStatus } from '@/api/types'
import {
  eventIs,
  type ConversationEvent,
  type DurableFrame,
  type EventOf,
  type Frame,
  type Outcome,
  type WindowFrame,
} from '@/events/wire/types'

export { emptyView, type ConversationView, type TimelineItem } from './view'

type Draft = { -readonly [K in keyof ConversationView]: ConversationView[K] } & {
  items: TimelineItem[]
  history: PositionedEvent[]
  openActions: Map<string, number>
}

/**
 * Returns the view after `frames`. The given view does not change. Durable frames that leave a gap are
 * ignored. `now` is the time at which the frames arrived. Frames contain numbers of seconds that count from
 * this time.
 */
export function fold(view: ConversationView, frames: readonly Frame[], now = Date.now()): ConversationView {
  if (frames.length === 0) return view
  const hasEvents = frames.some(
    (frame) => frame.type === 'window' || (frame.type === 'durable' && frame.seq > view.lastSeq),
  )
  const draft = {
    ...view,
    // Deltas come up to sixty times a second, so they must not copy a long history.
    items: (hasEvents ? [...view.items] : view.items) as TimelineItem[],
    history: (hasEvents ? [...view.history] : view.history) as PositionedEvent[],
    openActions: (hasEvents ? new Map(view.openActions) : view.openActions) as Map<string, number>,
  }
  for (const frame of frames) apply(draft, frame, now)
  return draft
}

function apply(draft: Draft, frame: Frame, now: number): void {
  switch (frame.type) {
    case 'window':
      openWindow(draft, frame)
      return
    case 'sync':
      draft.throughSeq = frame.through_seq
      draft.retry = null
      draft.streaming = draft.streaming.map((item) => ({ ...item, isStale: true }))
      return
    case 'durable':
      if (frame.seq !== draft.lastSeq + 1) return
      draft.shortened = shortenedAfter(draft.shortened, [frame])
      applyEvent(draft, frame.seq, readable(frame.event, frame.seq))
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
    case 'network':
      draft.refusedRequestReports += 1
      return
    case 'output':
      draft.outputs = outputsAfter(draft.outputs, frame.outputs, draft.openActions)
      return
    case 'transient':
    case 'error':
    default: // newer servers may send unknown frames
      return
  }
}

/**
 * Opens a window of the log. Of the events before the window, only those that make up the state are known.
 */
function openWindow(draft: Draft, frame: WindowFrame): void {
  if (draft.lastSeq > 0) return
  draft.firstSeq = frame.first_seq
  draft.lastSeq = frame.first_seq - 1
  for (const reported of frame.state) {
    const { seq } = reported
    const event = readable(reported.event, seq)
    if (eventIs(event, 'ConversationStateUpdateEvent')) applyStateUpdate(draft, seq, event)
    draft.goal = goalOf(event) ?? draft.goal
    draft.agentBrowser = agentBrowserAfter(draft.agentBrowser, seq, event)
    if (!eventIs(event, 'ActionEvent')) continue
    draft.earlierActions = [...draft.earlierActions, { seq, event }]
    place(draft, seq, event)
  }
}

/** Returns the view with older events added. The state at the end of the log does not change. */
export function withOlder(view: ConversationView, frames: readonly DurableFrame[]): ConversationView {
  const older = frames.filter(({ seq }) => seq < view.firstSeq)
  if (older.length === 0 || older.at(-1)?.seq !== view.firstSeq - 1) return view
  const firstSeq = older[0]?.seq ?? view.firstSeq
  const placed = older.map(({ seq, event }) => ({ seq, event: readable(event, seq) }))
  const earlierActions = view.earlierActions.filter(({ seq }) => seq < firstSeq)
  const draft: Draft = {
    ...view,
    firstSeq,
    earlierActions,
    goal: null,
    items: [],
    history: [],
    openActions: new Map(),
  }
  for (const { seq, event } of earlierActions) place(draft, seq, event)
  for (const { seq, event } of [...placed, ...view.history]) putOnBranch(draft, seq, event)
  const { items, history, openActions } = draft
  const shortened = shortenedAfter(view.shortened, older)
  return { ...view, firstSeq, earlierActions, shortened, items, history, openActions }
}

/** Returns the view of a part of the log, without the state before it. */
export function passageOf(frames: readonly DurableFrame[]): ConversationView {
  const first_seq = frames[0]?.seq ?? 1
  const last_seq = frames.at(-1)?.seq ?? 0
  return fold(emptyView, [{ type: 'window', first_seq, last_seq, state: [] }, ...frames])
}

/** Returns the view joined with a passage whose end meets the beginning of the view. */
export function withPassage(view: ConversationView, passage: ConversationView): ConversationView {
  const frames = passage.history.map(({ seq, event }): DurableFrame => ({ type: 'durable', seq, event }))
  const shortened = new Set([...view.shortened, ...passage.shortened])
  return { ...withOlder(view, frames), shortened }
}

function applyEvent(draft: Draft, seq: number, event: ConversationEvent): void {
  draft.lastSeq = seq
  if (event.source === 'agent') endStreaming(draft, event.id)
  if (endsRetry(event)) draft.retry = null
  draft.unread = unreadAfter(draft.unread, event, {
    isRunning: draft.loggedStatus?.value === 'running',
    hasOpenActions: draft.openActions.size > 0,
  })
  if (eventIs(event, 'ConversationStateUpdateEvent')) applyStateUpdate(draft, seq, event)
  const isOtherFiles = rewindOf(event) !== null || restoredOf(event) !== null
  if (mayTouchFiles(event) || isOtherFiles) draft.filesTouchedSeq = seq
  draft.agentBrowser = agentBrowserAfter(draft.agentBrowser, seq, event)
  putOnBranch(draft, seq, event)
}

function putOnBranch(draft: Draft, seq: number, event: ConversationEvent): void {
  draft.history.push({ seq, event })
  const leaf = newLeaf(event)
  if (leaf !== null) goBack(draft, leaf.id)
  else place(draft, seq, event)
}

/** Removes the timeline items that are not on the way to `leaf`. */
function goBack(draft: Draft, leaf: string | null): void {
  draft.items = []
  draft.openActions = new Map()
  draft.outputs = new Map()
  // If the view is a window, the goal may have been set before it, so it stays.
  if (draft.firstSeq === 1) draft.goal = null
  draft.unread = []
  for (const { seq, event } of branch(draft.history, leaf)) place(draft, seq, event)
}

/**
 * Returns whether the event ends the wait for the next call of the model. Messages of the user, new titles
 * and new counts do not end it.
 */
function endsRetry(event: ConversationEvent): boolean {
  if (eventIs(event, 'ConversationStateUpdateEvent'))
    return event.key === 'execution_status' || event.key === 'full_state'
  return event.source !== 'user'
}

const isUserMessage = (event: ConversationEvent) => event.source === 'user' && eventIs(event, 'MessageEvent')

function place(draft: Draft, seq: number, event: ConversationEvent): void {
  if (draft.goal !== null && hasGoalEnded(draft.goal) && isUserMessage(event)) draft.goal = null
  if (eventIs(event, 'ActionEvent')) {
    draft.openActions.set(event.id, draft.items.length)
    draft.items.push({ type: 'tool', seq, action: event, outcome: null, outcomeSeq: null })
    return
  }
  const goal = goalOf(event)
  if (goal !== null) {
    draft.items.push({ type: 'goal', seq, event, goal, step: goalStep(draft.goal, goal) })
    draft.goal = goal
    return
  }
  const actionId = answeredAction(draft, event)
  const index = actionId === null ? undefined : draft.openActions.get(actionId)
  const item = index === undefined ? undefined : draft.items[index]
  if (actionId === null || index === undefined || item?.type !== 'tool') {
    // If the action comes before the window, its answer is shown when the older events are loaded.
    const isBeforeWindow = draft.firstSeq > 1 && actionId !== null
    if (!isBeforeWindow) draft.items.push({ type: 'event', seq, event })
    return
  }
  draft.items[index] = { ...item, outcome: event as Outcome, outcomeSeq: seq }
  draft.openActions.delete(actionId)
  draft.outputs = withoutOutput(draft.outputs, actionId)
}

/** Returns the id of the open action that `event` answers. Agent errors name only the tool call. */
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
    if (status !== 'running') {
      draft.streaming = []
      draft.mcpQuestions = []
    }
  }
  const reported = tasksOf(event)
  if (reported.length > 0)
    draft.tasks = new Map([...draft.tasks, ...reported.map((task) => [task.action_id, task] as const)])
  if (event.key === 'confirmation_policy') draft.confirmationModeChangedSeq = seq
  draft.mcpChanges = mcpChangesOf(event) ?? draft.mcpChanges
  draft.mcpQuestions = mcpQuestionsOf(event) ?? draft.mcpQuestions
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
