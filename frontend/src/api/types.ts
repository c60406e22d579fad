import type { Schemas, Sent } from './schema'

export type { LLMProfile, LLMProfileInput, LLMProfileList } from '@/api/models/profile-options'

/**
 * The types of the app server's data: the generated types under the names of the front end. Facts that the
 * OpenAPI document cannot express are added here, each with its reason. The document describes everything
 * that clients of the protocol need, and types some fixed values as strings. Ids are UUIDs without dashes.
 * Times are ISO 8601 in UTC.
 */

/** `page_proof` is kept for later requests. See page-proof.ts. */
export type SignedInUser = Schemas['SignedInUser']

/**
 * A user as a part of larger replies. `organisation` is the name of the organisation. The reply to a sign-in
 * does not contain it.
 */
export type User = Pick<Schemas['Person'], 'id' | 'name' | 'role'> &
  Partial<Pick<Schemas['CurrentUserInfo'], 'administers_installation' | 'organisation'>>

/** A user as administrators see it. `signed_in_at` is the last sign-in. Only the list contains `has_totp`. */
export type Person = Schemas['Person']

/** A one-time link. `url` signs in the first browser that opens it. */
export type SignInLink = Schemas['SignInLinkInfo']

/**
 * The part of the configuration that the front end reads. Other clients of the protocol read the rest. `demo`
 * is null if this server has no demo. If `ports_have_names` is true, pages of a sandbox's ports open at a
 * host name, and not below a path.
 */
export type WebClientConfig = Pick<
  Schemas['WebClientConfig'],
  'version' | 'ports_have_names' | 'password_sign_in' | 'sends_mail' | 'sandbox' | 'workspace_limit'
> & { demo: Schemas['DemoInfo'] | null }

/** When the agent asks the user: before every step, before risky steps, or never. */
export const CONFIRMATION_MODES = [
  'always',
  'risky',
  'never',
] as const satisfies Schemas['ConfirmationMode'][]
export type ConfirmationMode = Schemas['ConfirmationMode']

/** If `mode` is null, `default_mode` applies. It is the mode that suits the sandbox. */
export type ConfirmationSettings = Schemas['ConfirmationSettings']

/** A secret that agents may use. The app server never sends its value to a browser. */
export type Secret = Schemas['SecretInfo']

/** A secret to save. The app server never returns `value`. */
export type SecretInput = Schemas['SaveSecret']

export type Permission = Schemas['Permission']

/**
 * An API key. If `scopes` is null, the key has all permissions of its user. `addresses` are networks. If it
 * is null, every network may use the key.
 */
export type ApiKey = Schemas['ApiKeyInfo']

/** A browser in which the user is signed in. `last_used_at` is exact to one hour. */
export type WebSession = Schemas['WebSessionInfo']

/** A new API key. `key` is only in the reply that creates it. */
export type CreatedApiKey = Schemas['CreatedApiKey']

/** A text without marks for the vendor's prompt cache. */
export type TextContent = Omit<Schemas['TextContent'], 'cache_prompt'>
export type ImageContent = Omit<Schemas['ImageContent'], 'cache_prompt'>
export type MessageContent = TextContent | ImageContent

/** A message to send. The client makes `id`, so sending the message again does no harm. */
export type SendMessageRequest = Pick<Schemas['SendMessageRequest'], 'id' | 'role'> & {
  content: MessageContent[]
  run?: boolean
}

/** `message` is `queued` while the conversation is starting, or while its sandbox waits for memory. */
export type SendMessageReply = Sent<Schemas['SendMessageReply']>

/**
 * A request to start a conversation. `suggested_task` replaces message and repository. `goal` makes the first
 * message a goal. `snapshot_id` starts with the files and the repository of a snapshot. If `sandbox_spec_id`
 * is null, the image of the snapshot is used. If it is left out, the settings decide. `sandbox_id` is a
 * sandbox of the user, in which the new conversation works beside other conversations.
 */
export type StartRequest = Pick<
  Schemas['StartRequest-Input'],
  | 'selected_repository'
  | 'selected_branch'
  | 'selected_directory'
  | 'llm_profile'
  | 'suggested_task'
  | 'title'
  | 'max_budget_per_task'
  | 'goal'
  | 'snapshot_id'
  | 'sandbox_spec_id'
  | 'sandbox_id'
> & {
  initial_message?: SendMessageRequest | null
  more_repositories?: Schemas['AnotherRepository'][]
  clone?: Schemas['CloneMode']
  submodules?: boolean
}

/**
 * Changes for the retry of a failed start. Fields that are left out stay as they are. A null branch means the
 * default branch.
 */
export type RetryStart = Schemas['RetryStart']

export type SandboxStatus = Schemas['SandboxStatus']

/** The document types this value as a string, because a later agent server may have other values. */
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
] as const satisfies Schemas['StartStatus'][]
export type StartStageName = (typeof START_STAGES)[number]
export type StartStatus = Schemas['StartStatus']

/**
 * A stage of the start. The document uses one type for stages and ends. `output` is the end of the command's
 * output, at most 8 KiB.
 */
export type StartStage = Sent<Schemas['StartStage']> & { status: StartStageName }

/** The document uses one type for stages and ends. */
export type StartError = Sent<Schemas['StartError']> & { stage: StartStageName }

/** The start of a conversation. `request`, `stages` and `error` have the types defined above. */
export type StartTask = Omit<Schemas['StartTaskInfo'], 'request' | 'stages' | 'error'> & {
  request: StartRequest
  stages: StartStage[]
  error: StartError | null
}

export type TokenUsage = Sent<Schemas['TokenUsage']>

/** The usage of models. Amounts are US dollars. */
export type Metrics = Sent<Schemas['MetricsSnapshot']>

export type GoalStatus = Goal['status']

/** A goal. A judge checks it after each turn of the agent. `iteration` is the number of checks so far. */
export type Goal = Schemas['ConversationGoal']

type ProtocolOnlyField = 'acp_server' | 'launched_agent_profile'

/**
 * A conversation. `sandbox_error` is the reason why the sandbox is in ERROR. `execution_status` is null while
 * the sandbox does not run.
 */
export type AppConversation = Sent<
  Omit<Schemas['AppConversation'], ProtocolOnlyField | 'execution_status'>
> & {
  execution_status: ExecutionStatus | null
}

/** The values that the filters of the search offer. */
export type FilterChoices = Schemas['FilterChoices']
export type TagCount = Schemas['TagCount']

/** What a person may do with a conversation. */
export type Access = NonNullable<AppConversation['access']>

export interface Page<T> {
  items: T[]
  next_page_id: string | null
}

/** A changed file. `path` is relative to the repository. */
export type GitChange = Schemas['GitChange']

/** The two versions of a file. `original` is null if the file did not exist before. */
export type GitDiff = Sent<Schemas['GitDiff']>

export interface Success {
  success: boolean
}

export type SkillInput = Sent<Schemas['SkillInputInfo']>

/** A skill. `paths` are globs of the files to which the skill applies as a rule. */
export type Skill = Sent<Schemas['SkillInfo']>

/**
 * The origins of skills. If two skills have the same name, the first origin in this order is used. Notes are
 * separate.
 */
export const SKILL_ORIGINS = ['client', 'project', 'user', 'organisation', 'public', 'memory'] as const
export type SkillOrigin = (typeof SKILL_ORIGINS)[number]

/** A file that the app server checked for a skill, and the reason why it was loaded or not. */
export type SkillFinding = Sent<Schemas['SkillFinding']>

/** The known skills. `sources` has the number of loaded skills of each origin. */
export type KnownSkills = Sent<Schemas['SkillsResponse']>
