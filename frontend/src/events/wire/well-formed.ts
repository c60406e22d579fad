/** Checks events. Sandboxes write them, so an event that does not match its kind must not break the page. */
import * as z from 'zod/mini'
import type { ConversationEvent } from './types'

/** The kind that replaces an event that cannot be read. */
export const UNREADABLE = 'UnreadableEvent'

const content = z.array(z.looseObject({ type: z.string() }))
const texts = z.array(z.looseObject({ type: z.string(), text: z.optional(z.string()) }))
const optionalText = z.nullish(z.string())
const optionalTexts = z.nullish(z.array(z.string()))
const result = z.looseObject({ tool_name: z.string(), tool_call_id: z.nullish(z.string()) })

const COMMON = z.looseObject({ id: z.string(), timestamp: z.string(), source: z.string(), kind: z.string() })

const BY_KIND: Record<string, z.ZodMiniType> = {
  MessageEvent: z.looseObject({
    llm_message: z.looseObject({ content, reasoning_content: optionalText }),
    activated_skills: optionalTexts,
  }),
  ActionEvent: z.looseObject({
    tool_name: z.string(),
    tool_call_id: z.string(),
    thought: texts,
    reasoning_content: optionalText,
    action: z.nullish(z.looseObject({ kind: z.string() })),
    summary: optionalText,
  }),
  ObservationEvent: z.looseObject({
    tool_name: z.string(),
    action_id: z.string(),
    observation: z.looseObject({ kind: z.string(), content }),
    extended_content: z.nullish(texts),
  }),
  AgentErrorEvent: z.extend(result, { error: z.string() }),
  UserRejectObservation: z.looseObject({ tool_name: z.string(), action_id: z.string() }),
  ConversationErrorEvent: z.looseObject({ code: z.string(), detail: z.string() }),
  ConversationStateUpdateEvent: z.looseObject({ key: z.string() }),
  Condensation: z.looseObject({ forgotten_event_ids: z.array(z.string()), summary: optionalText }),
  HookExecutionEvent: z.looseObject({ hook_event_type: z.string(), hook_command: z.string() }),
  SecurityAnalysisEvent: z.looseObject({
    risks: z.record(z.string(), z.string()),
    details: z.record(z.string(), z.looseObject({})),
  }),
}

/**
 * Returns the event, or a replacement if it does not match its kind. Events of unknown kinds are accepted.
 */
export function readable(event: ConversationEvent, seq: number): ConversationEvent {
  const common = COMMON.safeParse(event)
  if (common.success) {
    const schema = BY_KIND[event.kind]
    if (schema === undefined || schema.safeParse(event).success) return event
  }
  const commonFields = common.success
    ? event
    : { id: `unreadable-${seq}`, timestamp: '', source: 'environment' }
  const { id, timestamp, source } = commonFields
  return { id, timestamp, source, kind: UNREADABLE, original: event }
}

/** Returns the event as it came over the wire. */
export function originalOf(event: ConversationEvent): unknown {
  return event.kind === UNREADABLE && 'original' in event ? event.original : event
}
