import type { AppConversation } from './types'

/** What a conversation is doing, in one word for people: the three wire statuses folded into one. */
export type ConversationPhase =
  | 'starting'
  | 'failed'
  | 'stuck'
  | 'working'
  | 'waiting'
  | 'paused'
  | 'ready'
  | 'finished'
  | 'asleep'
  | 'archived'

export function conversationPhase(conversation: AppConversation): ConversationPhase {
  if (conversation.start_status === 'ERROR' || conversation.sandbox_status === 'ERROR') return 'failed'
  if (conversation.start_status !== 'READY') return 'starting'
  // As its page says: what the agent did last says little once the sandbox is gone, or comes up again.
  if (conversation.sandbox_status === 'MISSING') return 'failed'
  if (conversation.sandbox_status === 'STARTING') return 'starting'
  switch (conversation.execution_status) {
    case 'running':
      return 'working'
    case 'waiting_for_confirmation':
      return 'waiting'
    case 'paused':
      return 'paused'
    case 'finished':
      return 'finished'
    case 'error':
      return 'failed'
    case 'stuck':
      return 'stuck'
    default:
      return restingPhase(conversation)
  }
}

function restingPhase({ sandbox_status: status }: AppConversation): ConversationPhase {
  if (status === 'RUNNING') return 'ready'
  return status === 'ARCHIVED' ? 'archived' : 'asleep'
}
