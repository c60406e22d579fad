import type { AppConversation, SandboxStatus } from '@/api/types'

/** The states of a sandbox in which its files are complete. During a start, and after a failed one, they may not be. */
const COMPLETE: ReadonlySet<SandboxStatus> = new Set<SandboxStatus>(['RUNNING', 'PAUSED', 'ARCHIVED'])

/** Whether the files of a conversation can be copied or archived now. */
export function canCopyFiles({ start_status, sandbox_status }: AppConversation): boolean {
  return start_status === 'READY' && COMPLETE.has(sandbox_status)
}
