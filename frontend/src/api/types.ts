export type { LLMProfile, LLMProfileInput, LLMProfileList } from './profile-options'

/**
 * What the app server sends, as docs/protocol.md §5 defines it.
 * Ids are UUIDs without dashes; times are ISO 8601 in UTC.
 */

/** `page_proof` is kept for later requests; see page-proof. */
export interface SignedInUser extends User {
  page_proof: string
}

export interface User {
  id: string
  name: string
  role: 'owner' | 'admin' | 'member' | 'viewer'
}

/** A user as administrators see them. `signed_in_at`: the last sign-in. `has_totp`: only the list tells it. */
export interface Person extends User {
  has_totp?: boolean
  created_at: string
  signed_in_at: string | null
  disabled_at: string | null
}

/** `url` signs in the first browser that opens it. */
export interface SignInLink {
  url: string
  expires_at: string
}

export interface WebClientConfig {
  version: string
  /** Pages of a sandbox's ports are opened at host names of their own, not below a path of this server. */
  ports_have_names: boolean
  password_sign_in: boolean
  sandbox: {
    backend: 'docker' | 'process' | 'remote'
    /** What of the server's machine is out of an agent's reach: all of it, its files and network, or nothing. */
    isolation: 'full' | 'files' | 'none'
    is_isolated: boolean
    warning: string | null
  }
  /** How much a new workspace can hold, and whether a disk of that size or a watch keeps it to that. */
  workspace_limit: { bytes: number | null; kept_by: 'disk' | 'watch' | 'none' }
  /** What "Try the demo" starts; null when this server ships none. */
  demo: { profile: string; repository: string; task: string } | null
}

/** Whether the agent asks: before every step, before risky ones, or never. */
export const CONFIRMATION_MODES = ['always', 'risky', 'never'] as const
export type ConfirmationMode = (typeof CONFIRMATION_MODES)[number]

export interface ConfirmationSettings {
  /** null: what suits the sandbox, which is `default_mode`. */
  mode: ConfirmationMode | null
  default_mode: ConfirmationMode
}

/** A value that agents may use. It is never sent to a browser. */
export interface Secret {
  name: string
  description: string | null
}

export interface SecretInput {
  name: string
  /** Write-only. */
  value: string
  description?: string
}

export type Permission = 'read' | 'work' | 'settings' | 'keys' | 'administer' | 'audit'

export interface ApiKey {
  id: string
  name: string
  prefix: string
  /** Null: all that its user may do. */
  scopes: Permission[] | null
  /** Networks; null: it counts from everywhere. */
  addresses: string[] | null
  created_at: string
  expires_at: string | null
  last_used_at: string | null
}

/** `key` is sent once, in the reply that creates it. */
/** A browser in which the user is signed in. */
export interface WebSession {
  id: string
  user_agent: string | null
  address: string | null
  created_at: string
  /** To within an hour. */
  last_used_at: string | null
  expires_at: string
  is_current: boolean
}

export interface CreatedApiKey extends ApiKey {
  key: string
}

export interface TextContent {
  type: 'text'
  text: string
}
export interface ImageContent {
  type: 'image'
  image_urls: string[]
}
export type MessageContent = TextContent | ImageContent

export interface SendMessageRequest {
  /** Client-made UUID: makes a retry harmless. */
  id?: string
  role: 'user'
  content: MessageContent[]
  run?: boolean
}

export interface SendMessageReply {
  success: boolean
  sandbox_status: SandboxStatus
  /** `queued` while the conversation is still starting, or its sandbox waits for memory. */
  message: string | null
}

export interface StartRequest {
  initial_message?: SendMessageRequest | null
  selected_repository?: string | null
  selected_branch?: string | null
  llm_profile?: string | null
  title?: string | null
  max_budget_per_task?: number | null
  /** Makes the first message a goal. */
  goal?: { max_iterations: number } | null
  /** Begins with the files of this snapshot, and its repository. */
  snapshot_id?: string | null
  /** What its sandbox starts from; null: the image of the snapshot; without one, as the settings say. */
  sandbox_spec_id?: string | null
  /** One of the user's sandboxes to work in, beside other conversations. */
  sandbox_id?: string | null
}

/** What of a failed start is to be another; what is left out stays. A branch of null is the default one. */
export interface RetryStart {
  selected_repository?: string | null
  selected_branch?: string | null
}

export type SandboxStatus = 'STARTING' | 'RUNNING' | 'PAUSED' | 'ARCHIVED' | 'ERROR' | 'MISSING'

export type ExecutionStatus =
  'idle' | 'running' | 'paused' | 'waiting_for_confirmation' | 'finished' | 'error' | 'stuck' | 'deleting'

export const START_STAGES = [
  'WORKING',
  'WAITING_FOR_SANDBOX',
  'PREPARING_REPOSITORY',
  'RUNNING_SETUP_SCRIPT',
  'SETTING_UP_GIT_HOOKS',
  'SETTING_UP_SKILLS',
  'STARTING_CONVERSATION',
] as const
export type StartStageName = (typeof START_STAGES)[number]
export type StartStatus = StartStageName | 'READY' | 'ERROR'

export interface StartStage {
  status: StartStageName
  state: 'pending' | 'running' | 'done' | 'skipped' | 'failed'
  started_at: string | null
  finished_at: string | null
  detail: string | null
  /** Last output of the stage's command, at most 8 KiB. */
  output: string | null
}

export interface StartError {
  code: string
  stage: StartStageName
  cause: string
  fix: string | null
  output: string | null
}

export interface StartTask {
  id: string
  created_by_user_id: string | null
  status: StartStatus
  detail: string | null
  app_conversation_id: string
  sandbox_id: string | null
  agent_server_url: string | null
  request: StartRequest
  created_at: string
  updated_at: string
  stages: StartStage[]
  error: StartError | null
}

export interface TokenUsage {
  model: string
  prompt_tokens: number
  completion_tokens: number
  cache_read_tokens: number
  cache_write_tokens: number
  reasoning_tokens: number
  context_window: number
  per_turn_token: number
  response_id: string
}

export interface Metrics {
  model_name: string
  /** US dollars. */
  accumulated_cost: number
  max_budget_per_task: number | null
  accumulated_token_usage: TokenUsage | null
}

export type GoalStatus = 'running' | 'complete' | 'capped' | 'interrupted'

/** An objective that a judge looks at after each of the agent's turns. `iteration`: how often it has. */
export interface Goal {
  objective: string
  status: GoalStatus
  iteration: number
  max_iterations: number
}

export interface AppConversation {
  id: string
  created_by_user_id: string | null
  sandbox_id: string | null
  selected_repository: string | null
  selected_branch: string | null
  git_provider: string | null
  title: string | null
  trigger: string | null
  pr_number: number[]
  llm_model: string | null
  llm_profile: string | null
  agent_kind: string
  metrics: Metrics | null
  goal: Goal | null
  parent_conversation_id: string | null
  sub_conversation_ids: string[]
  public: boolean | null
  tags: Record<string, string>
  created_at: string
  updated_at: string
  sandbox_status: SandboxStatus
  /** Why it stands in ERROR. */
  sandbox_error: { code: string; cause: string; fix: string; output: string } | null
  /** null while the sandbox is not running. */
  execution_status: ExecutionStatus | null
  conversation_url: string | null
  session_api_key: null
  start_status: StartStatus
  last_seq: number
}

export interface Page<T> {
  items: T[]
  next_page_id: string | null
}

export interface GitChange {
  status: 'ADDED' | 'UPDATED' | 'DELETED' | 'MOVED'
  /** Relative to the repository. */
  path: string
}

export interface GitDiff {
  /** null where the file did not exist on that side. */
  original: string | null
  modified: string | null
}

export interface Success {
  success: boolean
}

export interface SkillInput {
  name: string
  description: string
  required: boolean
  default: string | null
}

export interface Skill {
  name: string
  type: 'repo' | 'knowledge' | 'agentskills'
  content: string
  triggers: string[]
  inputs: SkillInput[]
  /** Globs of the files it is a rule for. */
  paths: string[]
  source: string | null
  description: string | null
  is_agentskills_format: boolean
  disable_model_invocation: boolean
}

/** Whose a skill is, in the order in which the first of a name wins; notes stand apart. */
export const SKILL_ORIGINS = ['client', 'project', 'user', 'organisation', 'public', 'memory'] as const
export type SkillOrigin = (typeof SKILL_ORIGINS)[number]

/** A file that was looked at, and why it was loaded or not. */
export interface SkillFinding {
  path: string
  name: string | null
  origin: string
  is_loaded: boolean
  reason: string
}

export interface KnownSkills {
  skills: Skill[]
  /** How many were loaded of each origin. */
  sources: Record<string, number>
  report: SkillFinding[]
}
