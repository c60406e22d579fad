import type { StartRequest } from '@/api/types'

export interface TaskInput {
  task: string
  /** Path on the server, git URL, or empty for an empty workspace. */
  repository: string
  branch: string
  profile: string
}

/** The request that starts `input`; empty fields are left to the server's defaults. */
export function startRequest(input: TaskInput): StartRequest {
  return {
    initial_message: { role: 'user', content: [{ type: 'text', text: input.task.trim() }], run: true },
    selected_repository: input.repository.trim() || null,
    selected_branch: (input.repository.trim() && input.branch.trim()) || null,
    llm_profile: input.profile || null,
  }
}
