/** How a conversation stands: one word for people, the same wherever it is shown. */
import type { TFunction } from 'i18next'
import type { AppConversation, ExecutionStatus, SandboxStatus, StartStatus } from './types'

export type ConversationStatus =
  | 'loading'
  | 'starting'
  | 'start_failed'
  | 'sandbox_starting'
  | 'sandbox_asleep'
  | 'sandbox_archived'
  | 'sandbox_failed'
  | 'sandbox_gone'
  | 'sandbox_lost'
  | ExecutionStatus

export interface Standing {
  start: StartStatus | null
  /** Null: not known yet. */
  sandbox: SandboxStatus | null
  /** The server knows why the sandbox is missing, and may find it again. */
  isSandboxLost: boolean
  execution: ExecutionStatus | null
}

export function standingOf(conversation: AppConversation): Standing {
  return {
    start: conversation.start_status,
    sandbox: conversation.sandbox_status,
    isSandboxLost: conversation.sandbox_error !== null,
    execution: conversation.execution_status,
  }
}

/** What can be done now. What the agent did last says little once its sandbox is gone, or comes up again. */
export function conversationStatus({
  start,
  sandbox,
  isSandboxLost,
  execution,
}: Standing): ConversationStatus {
  if (start === null) return 'loading'
  if (start === 'ERROR') return 'start_failed'
  if (start !== 'READY') return 'starting'
  switch (sandbox) {
    case 'STARTING':
      return 'sandbox_starting'
    case 'PAUSED':
      return 'sandbox_asleep'
    case 'ARCHIVED':
      return 'sandbox_archived'
    case 'ERROR':
      return 'sandbox_failed'
    case 'MISSING':
      return isSandboxLost ? 'sandbox_lost' : 'sandbox_gone'
    default:
      return execution ?? 'idle'
  }
}

/** The word for it: "Working", "Asleep". */
export function statusText(t: TFunction, standing: Standing): string {
  return t(`status.${conversationStatus(standing)}`)
}

export type StatusTone = 'neutral' | 'accent' | 'success' | 'warning' | 'danger'

const TONES: Record<ConversationStatus, StatusTone> = {
  loading: 'neutral',
  starting: 'accent',
  start_failed: 'danger',
  sandbox_starting: 'accent',
  sandbox_asleep: 'neutral',
  sandbox_archived: 'neutral',
  sandbox_failed: 'danger',
  sandbox_gone: 'danger',
  sandbox_lost: 'danger',
  idle: 'success',
  running: 'accent',
  paused: 'warning',
  waiting_for_confirmation: 'warning',
  finished: 'success',
  error: 'danger',
  stuck: 'warning',
  deleting: 'neutral',
}

export function statusTone(standing: Standing): StatusTone {
  return TONES[conversationStatus(standing)]
}

/** Something is going on, and will go on without the user. */
export function isActive(status: ConversationStatus): boolean {
  return status === 'running' || status === 'starting' || status === 'sandbox_starting'
}
