import type { AppConversation, SandboxStatus } from '@/api/types'

/**
 * The states of a sandbox in which its files are complete. They may be incomplete during a start and after a
 * failed start.
 */
const COMPLETE: ReadonlySet<SandboxStatus> = new Set<SandboxStatus>(['RUNNING', 'PAUSED', 'ARCHIVED'])

/** Returns whether the files of a conversation can be copied or archived now. */
export function canCopyFiles({ start_status, sandbox_status }: AppConversation): boolean {
  return start_status === 'READY' && COMPLETE.has(sandbox_status)
}
