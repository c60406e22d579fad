/** The status of a conversation in one word for people. It is the same on all pages. */
import type { TFunction } from 'i18next'
import type { AppConversation, ExecutionStatus, SandboxStatus, StartStatus } from '@/api/types'

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
  | 'imported'
  | ExecutionStatus

export interface StatusParts {
  start: StartStatus | null
  /** Null: not known yet. */
  sandbox: SandboxStatus | null
  /** The server knows why the sandbox is missing, and may find it again. */
  isSandboxLost: boolean
  /** It came in as a file, and has no sandbox. */
  isImported: boolean
  execution: ExecutionStatus | null
}

/** Whether it came in as a file: it can be read, and no agent works on it. */
export function isImported({ trigger, sandbox_status }: AppConversation): boolean {
  return trigger === 'import' && sandbox_status === 'MISSING'
}

/** Whether it has no sandbox and gets none: it was imported, or its sandbox was deleted. */
export function isWithoutSandbox(conversation: AppConversation): boolean {
  const { start_status, sandbox_status, sandbox_error } = conversation
  const isDeleted = start_status === 'READY' && sandbox_status === 'MISSING' && sandbox_error === null
  return isImported(conversation) || isDeleted
}

export function statusPartsOf(conversation: AppConversation): StatusParts {
  return {
    start: conversation.start_status,
    sandbox: conversation.sandbox_status,
    isSandboxLost: conversation.sandbox_error !== null,
    isImported: isImported(conversation),
    execution: conversation.execution_status,
  }
}

/** What can be done now. What the agent did last says little once its sandbox is gone, or comes up again. */
export function conversationStatus({
  start,
  sandbox,
  isSandboxLost,
  isImported,
  execution,
}: StatusParts): ConversationStatus {
  if (start === null) return 'loading'
  if (start === 'ERROR') return 'start_failed'
  if (start !== 'READY') return 'starting'
  if (isImported) return 'imported'
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
export function statusText(t: TFunction, parts: StatusParts): string {
  return t(`status.${conversationStatus(parts)}`)
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
  imported: 'neutral',
  idle: 'success',
  running: 'accent',
  paused: 'warning',
  waiting_for_confirmation: 'warning',
  finished: 'success',
  error: 'danger',
  stuck: 'warning',
  deleting: 'neutral',
}

export function statusTone(parts: StatusParts): StatusTone {
  return TONES[conversationStatus(parts)]
}

/** Something is going on, and will go on without the user. */
export function isActive(status: ConversationStatus): boolean {
  return status === 'running' || status === 'starting' || status === 'sandbox_starting'
}
