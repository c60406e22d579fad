import type { AppConversation, SandboxStatus } from '@/api/types'

/** Where the files are whole: not while a sandbox starts, or has failed to. */
const AT_REST: ReadonlySet<SandboxStatus> = new Set<SandboxStatus>(['RUNNING', 'PAUSED', 'ARCHIVED'])

/** Whether the files of a conversation can be copied or archived now. */
export function hasFilesAtRest({ start_status, sandbox_status }: AppConversation): boolean {
  return start_status === 'READY' && AT_REST.has(sandbox_status)
}
