/** Messages that are in the log and that the agent has not read yet: it reads before each step, not within one. Pure. */
import { eventIs, type ConversationEvent } from '@/events/wire/types'

export interface UnreadMessage {
  id: string
  /** The reply that was being written when the message came, and cannot know it. Null: there was none; empty: not known yet. */
  missedBy: string | null
}

export interface Run {
  isRunning: boolean
  /** Whether the agent waits for answers of its tools: then no reply is being written. */
  hasOpenActions: boolean
}

/** What is unread after `event`; the same list where nothing has changed. `run` is how it stood before. */
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

/** What a reply of the model is known by; its actions share it. Null for everything else. */
function replyOf(event: ConversationEvent): string | null {
  if (event.source !== 'agent') return null
  if (!eventIs(event, 'ActionEvent') && !eventIs(event, 'MessageEvent')) return null
  return event.llm_response_id ?? event.id
}

function hasEnded({ key, value }: { key: string; value: unknown }): boolean {
  return key === 'execution_status' && (value === 'finished' || value === 'idle')
}
