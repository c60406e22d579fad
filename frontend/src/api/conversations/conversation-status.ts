/** The status of a conversation in one word for the user. All pages use the same word. */
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
  /** The status of the sandbox. Null while it is not known. */
  sandbox: SandboxStatus | null
  /**
   * True if the sandbox is missing and the app server knows why. The app server may find the sandbox again.
   */
  isSandboxLost: boolean
  /** True if the conversation was imported from a file and has no sandbox. */
  isImported: boolean
  execution: ExecutionStatus | null
}

/** Returns whether the conversation was imported from a file. It can be read, but no agent works on it. */
export function isImported({ trigger, sandbox_status }: AppConversation): boolean {
  return trigger === 'import' && sandbox_status === 'MISSING'
}

/**
 * Returns whether the conversation has no sandbox and will not get one: it was imported, or its sandbox was
 * deleted.
 */
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

/**
 * Returns the status that tells what the user can do now. If the sandbox is missing or is starting, its
 * status is more useful than the agent's last status.
 */
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

/** Returns the word for the status, such as "Working" or "Asleep". */
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

/** Returns whether something is in progress that continues without the user. */
export function isActive(status: ConversationStatus): boolean {
  return status === 'running' || status === 'starting' || status === 'sandbox_starting'
}
