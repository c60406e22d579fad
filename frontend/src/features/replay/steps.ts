/** The steps of a replay. They are made from the events of a conversation. Pure. */
import { emptyView, fold, type ConversationView } from '@/events/fold/reduce'
import type { PositionedEvent } from '@/events/fold/rewind'
import type { ConversationEvent } from '@/events/wire/types'

/** The longest and the shortest pause between two steps at normal speed, in milliseconds. */
const LONGEST_MS = 1500
const SHORTEST_MS = 150

/** One position of the slider. Its state includes all events up to this event. */
export interface Step {
  seq: number
  /** The time of the event, as the server wrote it. */
  at: string
}

/** One step for each event that a reader can see. */
export function stepsOf(
  history: readonly PositionedEvent[],
  isHidden: (event: ConversationEvent) => boolean,
): Step[] {
  return history.flatMap(({ seq, event }) => (isHidden(event) ? [] : [{ seq, at: event.timestamp }]))
}

/**
 * Returns the index of the step that shows the event at `seq`. Returns the last index if `seq` is null or
 * after the end.
 */
export function stepAt(steps: readonly Step[], seq: number | null): number {
  const found = seq === null ? -1 : steps.findIndex((step) => step.seq >= seq)
  return found === -1 ? Math.max(steps.length - 1, 0) : found
}

/** Returns the pause before the next step, in milliseconds. It follows the real pause, within limits. */
export function pauseBefore(step: Step, next: Step, speed: number): number {
  const real = Date.parse(next.at) - Date.parse(step.at)
  const bounded = Number.isFinite(real) ? Math.min(Math.max(real, SHORTEST_MS), LONGEST_MS) : SHORTEST_MS
  return bounded / speed
}

const KEYFRAME_EVERY = 500

/**
 * Folds a history up to any position. It stores intermediate views, so that a step back is as fast as a step
 * forward.
 */
export class Folding {
  private readonly keyframes: ConversationView[]

  constructor(private readonly history: readonly PositionedEvent[]) {
    // If the history does not begin with the first event, the fold begins at the first event of the history.
    this.keyframes = [{ ...emptyView, lastSeq: (history[0]?.seq ?? 1) - 1 }]
  }

  /** Returns the view after the event at `seq`. */
  viewAt(seq: number): ConversationView {
    const first = this.history[0]?.seq ?? 1
    const count = Math.min(Math.max(seq - first + 1, 0), this.history.length)
    const keyframe = Math.floor(count / KEYFRAME_EVERY)
    for (let next = this.keyframes.length; next <= keyframe; next += 1)
      this.keyframes.push(this.folded(next - 1, next * KEYFRAME_EVERY))
    return this.folded(keyframe, count)
  }

  private folded(keyframe: number, count: number): ConversationView {
    const view = this.keyframes[keyframe] ?? emptyView
    const events = this.history.slice(keyframe * KEYFRAME_EVERY, count)
    return fold(
      view,
      events.map(({ seq, event }) => ({ type: 'durable', seq, event })),
    )
  }
}
