/** Makes the rows of the timeline, in order, from the folded view and the outgoing messages. Pure. */
import type { StartTask } from '@/api/types'
import { llmFallback } from '@/events/fold/fallback'
import { forkedOf } from '@/events/fold/forked'
import { proofOf } from '@/events/fold/proof'
import type { TimelineItem } from '@/events/fold/reduce'
import type { StreamingItem } from '@/events/fold/streaming'
import { restoredOf } from '@/events/fold/restored'
import { rewindOf, type PositionedEvent } from '@/events/fold/rewind'
import type { OutgoingMessage } from '@/events/store'
import { eventIs, type ConversationEvent } from '@/events/wire/types'
import { hookVerdict } from './hook-verdict'

export type Row =
  /** The row in which the page shows the progress of the start. */
  | { type: 'start'; key: string }
  | { type: 'item'; key: string; item: TimelineItem }
  | { type: 'streaming'; key: string; item: StreamingItem }
  | { type: 'outgoing'; key: string; message: OutgoingMessage }
  | { type: 'first_message'; key: string; text: string }

const TECHNICAL_KINDS: ReadonlySet<string> = new Set([
  'ConversationStateUpdateEvent',
  'SystemPromptEvent',
  'LLMCompletionLogEvent',
  'CondensationRequest',
  'SecurityAnalysisEvent',
])

/** Technical events, which most people do not need. The timeline counts them and shows them on request. */
export function isTechnical(event: ConversationEvent): boolean {
  if (eventIs(event, 'HookExecutionEvent')) return hookVerdict(event) === 'passed'
  if (!TECHNICAL_KINDS.has(event.kind)) return false
  return [llmFallback, proofOf, rewindOf, restoredOf, forkedOf].every((of) => of(event) === null)
}

function isTechnicalItem(item: TimelineItem, before: TimelineItem | undefined): boolean {
  return item.type === 'event' && (isTechnical(item.event) || isGoalMessage(item.event, before))
}

/**
 * Returns whether this is the message that tells the agent about its goal. The goal step before it has the
 * same content for people.
 */
function isGoalMessage(event: ConversationEvent, before: TimelineItem | undefined): boolean {
  return before?.type === 'goal' && event.source === 'environment' && eventIs(event, 'MessageEvent')
}

export function countTechnical(items: readonly TimelineItem[]): number {
  return items.reduce((count, item, index) => count + Number(isTechnicalItem(item, items[index - 1])), 0)
}

/** Returns whether the timeline shows the event only together with the technical events. */
export function isTechnicalEvent(items: readonly TimelineItem[], eventId: string | null): boolean {
  if (eventId === null) return false
  return items.some((item, index) => showsEvent(item, eventId) && isTechnicalItem(item, items[index - 1]))
}

export function itemRows(items: readonly TimelineItem[], showsTechnical: boolean): Row[] {
  const shown = showsTechnical
    ? items
    : withoutRepeats(items.filter((item, index) => !isTechnicalItem(item, items[index - 1])))
  // When the durable event replaces a streamed reply, the key stays the same. So its row stays mounted.
  return shown.map((item) => ({
    type: 'item',
    key: item.type === 'tool' ? item.action.id : item.event.id,
    item,
  }))
}

/** If the user goes back several times in a row, or stops twice, only the last row is shown. */
function withoutRepeats(items: readonly TimelineItem[]): TimelineItem[] {
  return items.filter((item, index) => {
    const mark = passingMark(item)
    return mark === null || mark !== passingMark(items[index + 1])
  })
}

/** Returns the kind of a row that only marks a moment. Returns null for all other rows. */
function passingMark(item: TimelineItem | undefined): string | null {
  if (item?.type !== 'event') return null
  if (rewindOf(item.event) !== null) return 'rewind'
  return eventIs(item.event, 'InterruptEvent') || eventIs(item.event, 'PauseEvent') ? 'stop' : null
}

/**
 * Returns the index of the row that shows the event: directly, as an action, or as an answer. Returns -1 if
 * there is none.
 */
export function rowOfEvent(rows: readonly Row[], eventId: string | null): number {
  if (eventId === null) return -1
  return rows.findIndex((row) => row.type === 'item' && showsEvent(row.item, eventId))
}

export function showsEvent(item: TimelineItem, eventId: string): boolean {
  return item.type === 'tool'
    ? item.action.id === eventId || item.outcome?.id === eventId
    : item.event.id === eventId
}

export function liveRows(streaming: readonly StreamingItem[], outgoing: readonly OutgoingMessage[]): Row[] {
  return [
    ...streaming
      .filter((item) => item.text !== '' || item.reasoning !== '')
      .map((item): Row => ({ type: 'streaming', key: item.id, item })),
    ...outgoing.map((message): Row => ({ type: 'outgoing', key: message.id, message })),
  ]
}

/** Returns the first message, until the log contains it. `history` also has events of old branches. */
export function firstMessageRow(task: StartTask | null, history: readonly PositionedEvent[]): Row[] {
  const text = contentText(task?.request.initial_message?.content ?? [])
  const isLogged = history.some(({ event }) => eventIs(event, 'MessageEvent'))
  return text === '' || isLogged ? [] : [{ type: 'first_message', key: 'first-message', text }]
}

/** Returns the text parts of a message or a tool result. Images are rendered separately. */
export function contentText(content: readonly { type: string; text?: string }[]): string {
  return content.flatMap((part) => (part.type === 'text' && part.text ? [part.text] : [])).join('\n')
}

export function contentImages(content: readonly { type: string; image_urls?: string[] }[]): string[] {
  return content.flatMap((part) => (part.type === 'image' ? (part.image_urls ?? []) : []))
}
