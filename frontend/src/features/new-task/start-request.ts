import type { CloneMode } from '@/api/git/cloning'
import type { ConfirmationMode, StartRequest } from '@/api/types'
import { parseDollars } from '@/lib/text/dollars'

export interface TaskInput {
  task: string
  /** Path on the server, git URL, or empty for an empty workspace. */
  repository: string
  branch: string
  /** The folder of the repository in which the agent works; empty for its root. */
  directory?: string
  /** How much of the repositories' history is fetched; empty for what the settings say. */
  clone?: CloneMode | ''
  /** Whether submodules are fetched; empty for what the settings say. */
  submodules?: 'true' | 'false' | ''
  /** Further repositories. Each one is cloned into a separate directory. */
  more?: { repository: string; branch: string }[]
  profile: string
  /** US dollars, or empty for what the model's profile says. */
  budget: string
  /** Whether the agent asks before it acts; empty for what the settings say. */
  confirmation?: ConfirmationMode | ''
  /** What its sandbox starts from; empty for what the settings say. */
  sandbox_spec?: string
  /** How often a judge may send the agent back; null: the task is no goal. */
  goal_rounds?: number | null
}

/**
 * The request that starts `input`; empty fields are left to the server's defaults.
 * `sandboxId`: one that there is already, with the image that it has.
 */
export function startRequest(input: TaskInput, sandboxId?: string): StartRequest {
  return {
    initial_message: { role: 'user', content: [{ type: 'text', text: input.task.trim() }], run: true },
    selected_repository: input.repository.trim() || null,
    selected_branch: (input.repository.trim() && input.branch.trim()) || null,
    ...(input.repository.trim() && input.directory?.trim() && { selected_directory: input.directory.trim() }),
    ...(input.repository.trim() && input.clone && { clone: input.clone }),
    ...(input.repository.trim() && input.submodules && { submodules: input.submodules === 'true' }),
    ...(moreOf(input).length > 0 && { more_repositories: moreOf(input) }),
    llm_profile: input.profile || null,
    ...(sandboxId && { sandbox_id: sandboxId }),
    ...(!sandboxId && input.sandbox_spec && { sandbox_spec_id: input.sandbox_spec }),
    ...(input.confirmation && { confirmation_mode: input.confirmation }),
    ...(input.goal_rounds && { goal: { max_iterations: input.goal_rounds } }),
    ...(parseDollars(input.budget) && { max_budget_per_task: parseDollars(input.budget) }),
  }
}

/** The further repositories that were named; without a first one there are none. */
function moreOf({ repository, more = [] }: TaskInput) {
  if (!repository.trim()) return []
  return more
    .filter((one) => one.repository.trim())
    .map((one) => ({ repository: one.repository.trim(), branch: one.branch.trim() || null }))
}
