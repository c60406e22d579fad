/** Another model than the chosen one has answered, as the log tells of it. Pure. */
import { eventIs, type ConversationEvent } from '@/events/wire/types'

/** In the log under `agent_state`: which model answered in place of those that could not be asked. */
export interface LLMFallback {
  model: string
  passed_over: { model: string; code: string; detail: string }[]
}

/** The fallback that a state update tells of; null for every other event. */
export function llmFallback(event: ConversationEvent): LLMFallback | null {
  if (!eventIs(event, 'ConversationStateUpdateEvent') || event.key !== 'agent_state') return null
  return (event.value as { llm_fallback?: LLMFallback } | null)?.llm_fallback ?? null
}
