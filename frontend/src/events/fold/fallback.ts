/** Reads fallbacks from the log. In a fallback, another model than the chosen one has answered. Pure. */
import { eventIs, type ConversationEvent } from '@/events/wire/types'

/**
 * The fallback in the log under `agent_state`: the model that answered, and the models that could not be
 * asked.
 */
export interface LLMFallback {
  model: string
  passed_over: { model: string; code: string; detail: string }[]
}

/** Returns the fallback that a state update reports. Returns null for all other events. */
export function llmFallback(event: ConversationEvent): LLMFallback | null {
  if (!eventIs(event, 'ConversationStateUpdateEvent') || event.key !== 'agent_state') return null
  return (event.value as { llm_fallback?: LLMFallback } | null)?.llm_fallback ?? null
}
