/**
 * Finds messages in the log that the agent has not read yet. The agent reads messages before each step, and
 * not within a step. Pure.
 */
import { eventIs, type ConversationEvent } from '@/events/wire/types'

export interface UnreadMessage {
  id: string
  /**
   * The reply that the model was writing when the message came. This reply does not consider the message.
   * Null means that there was no such reply. An empty text means that the reply is not known yet.
   */
  missedBy: string | null
}

export interface Run {
  isRunning: boolean
  /** Whether the agent waits for answers of its tools. Then no reply is being written. */
  hasOpenActions: boolean
}

/**
 * Returns the unread messages after `event`. Returns the same list if nothing has changed. `run` is the state
 * before the event.
 */
export function unreadAfter(
  before: readonly UnreadMessage[],
  event: ConversationEvent,
  run: Run,
): readonly UnreadMessage[] {
  if (eventIs(event, 'MessageEvent') && event.source === 'user')
    return run.isRunning ? [...before, { id: event.id, missedBy: run.hasOpenActions ? null : '' }] : before
  if (before.length === 0) return before
  if (eventIs(event, 'ConversationStateUpdateEvent')) return hasEnded(event) ? [] : before
  const reply = replyOf(event)
  if (reply === null) return before
  return before
    .filter(({ missedBy }) => missedBy === '' || missedBy === reply)
    .map((message) => ({ ...message, missedBy: reply }))
}

/**
 * Returns the identifier of a model's reply. All actions of one reply have the same identifier. Returns null
 * for all other events.
 */
function replyOf(event: ConversationEvent): string | null {
  if (event.source !== 'agent') return null
  if (!eventIs(event, 'ActionEvent') && !eventIs(event, 'MessageEvent')) return null
  return event.llm_response_id ?? event.id
}

function hasEnded({ key, value }: { key: string; value: unknown }): boolean {
  return key === 'execution_status' && (value === 'finished' || value === 'idle')
}
