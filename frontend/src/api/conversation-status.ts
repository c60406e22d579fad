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

/** What stays true of an agent while its sandbox is at rest. A run does not: it was cut off. */
const LASTING: ReadonlySet<ExecutionStatus> = new Set<ExecutionStatus>([
  'waiting_for_confirmation',
  'finished',
  'error',
  'stuck',
  'paused',
])

/** The word for it: "Working", "Finished, asleep". */
export function statusText(t: TFunction, standing: Standing): string {
  const status = conversationStatus(standing)
  const word = t(`status.${status}`)
  const { execution } = standing
  if (!isAtRest(status) || execution === null || !LASTING.has(execution)) return word
  return t('status.at_rest', { status: t(`status.${execution}`), rest: word.toLowerCase() })
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
  const status = conversationStatus(standing)
  const { execution } = standing
  return TONES[isAtRest(status) && execution !== null && LASTING.has(execution) ? execution : status]
}

/** Something is going on, and will go on without the user. */
export function isActive(status: ConversationStatus): boolean {
  return status === 'running' || status === 'starting' || status === 'sandbox_starting'
}

function isAtRest(status: ConversationStatus): boolean {
  return status === 'sandbox_asleep' || status === 'sandbox_archived'
}
