import type { CloneMode } from '@/api/git/cloning'
import type { ConfirmationMode, StartRequest } from '@/api/types'
import { parseDollars } from '@/lib/text/dollars'

export interface TaskInput {
  task: string
  /** A path on the server, or a git URL. Empty means an empty workspace. */
  repository: string
  branch: string
  /** The folder of the repository in which the agent works. Empty means the root of the repository. */
  directory?: string
  /** How much of the repositories' history is fetched. Empty means the value of the settings. */
  clone?: CloneMode | ''
  /** Whether submodules are fetched. Empty means the value of the settings. */
  submodules?: 'true' | 'false' | ''
  /** Further repositories. Each one is cloned into a separate directory. */
  more?: { repository: string; branch: string }[]
  profile: string
  /** US dollars. Empty means the budget of the model's profile. */
  budget: string
  /** Whether the agent asks before it acts. Empty means the value of the settings. */
  confirmation?: ConfirmationMode | ''
  /** The image of the sandbox. Empty means the value of the settings. */
  sandbox_spec?: string
  /** How often a judge may send the agent back to work. Null means that the task is not a goal. */
  goal_rounds?: number | null
}

/**
 * Returns the request that starts the task `input`. For empty fields, the app server uses its defaults.
 * `sandboxId` is an existing sandbox. The task then uses its image.
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

/** Returns the further repositories. If there is no first repository, there are no further ones. */
function moreOf({ repository, more = [] }: TaskInput) {
  if (!repository.trim()) return []
  return more
    .filter((one) => one.repository.trim())
    .map((one) => ({ repository: one.repository.trim(), branch: one.branch.trim() || null }))
}
