import type { Schemas, Sent } from './schema'

export type { LLMProfile, LLMProfileInput, LLMProfileList } from '@/api/models/profile-options'

/**
 * What the app server sends: the generated types by the names of the front end. What the OpenAPI document cannot
 * say is added here, each with its reason: it describes all that clients of the protocol look for, and calls some
 * values strings. Ids are UUIDs without dashes; times are ISO 8601 in UTC.
 */

/** `page_proof` is kept for later requests; see page-proof. */
export type SignedInUser = Schemas['SignedInUser']

/** A part of larger replies. `organisation`: its name; the reply to a sign-in does not have it. */
export type User = Pick<Schemas['Person'], 'id' | 'name' | 'role'> &
  Partial<Pick<Schemas['CurrentUserInfo'], 'administers_installation' | 'organisation'>>

/** A user as administrators see them. `signed_in_at`: the last sign-in. `has_totp`: only the list tells it. */
export type Person = Schemas['Person']

/** `url` signs in the first browser that opens it. */
export type SignInLink = Schemas['SignInLinkInfo']

/**
 * The part that the front end reads; clients of the protocol look for the rest. `demo` is null when this server
 * ships none. `ports_have_names`: pages of a sandbox's ports are opened at host names, not below a path.
 */
export type WebClientConfig = Pick<
  Schemas['WebClientConfig'],
  'version' | 'ports_have_names' | 'password_sign_in' | 'sends_mail' | 'sandbox' | 'workspace_limit'
> & { demo: Schemas['DemoInfo'] | null }

/** Whether the agent asks: before every step, before risky ones, or never. */
export const CONFIRMATION_MODES = [
  'always',
  'risky',
  'never',
] as const satisfies Schemas['ConfirmationMode'][]
export type ConfirmationMode = Schemas['ConfirmationMode']

/** `mode`: null for what suits the sandbox, which is `default_mode`. */
export type ConfirmationSettings = Schemas['ConfirmationSettings']

/** A value that agents may use. It is never sent to a browser. */
export type Secret = Schemas['SecretInfo']

/** `value` is write-only. */
export type SecretInput = Schemas['SaveSecret']

export type Permission = Schemas['Permission']

/**
 * `scopes`: null: all that its user may do.
 * `addresses`: networks; null: it counts from everywhere.
 */
export type ApiKey = Schemas['ApiKeyInfo']

/**
 * A browser in which the user is signed in.
 * `last_used_at`: to within an hour.
 */
export type WebSession = Schemas['WebSessionInfo']

/** `key` is sent once, in the reply that creates it. */
export type CreatedApiKey = Schemas['CreatedApiKey']

/** Without marks for vendors' caches. */
export type TextContent = Omit<Schemas['TextContent'], 'cache_prompt'>
export type ImageContent = Omit<Schemas['ImageContent'], 'cache_prompt'>
export type MessageContent = TextContent | ImageContent

/** `id`: made by the client, so that a retry is harmless. */
export type SendMessageRequest = Pick<Schemas['SendMessageRequest'], 'id' | 'role'> & {
  content: MessageContent[]
  run?: boolean
}

/** `message`: `queued` while the conversation is still starting, or its sandbox waits for memory. */
export type SendMessageReply = Sent<Schemas['SendMessageReply']>

/**
 * `suggested_task`: in place of message and repository. `goal`: makes the first message a goal. `snapshot_id`: begins
 * with its files and its repository. `sandbox_spec_id`: null for the image of the snapshot; without one, as the
 * settings say. `sandbox_id`: one of the user's sandboxes to work in, beside other conversations.
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

/** A string in the document: a later agent server may have others. */
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

/** The document has one type for stages and ends. `output`: the last of its command, at most 8 KiB. */
export type StartStage = Sent<Schemas['StartStage']> & { status: StartStageName }

/** The document has one type for stages and ends. */
export type StartError = Sent<Schemas['StartError']> & { stage: StartStageName }

/** `request`, `stages` and `error` as above. */
export type StartTask = Omit<Schemas['StartTaskInfo'], 'request' | 'stages' | 'error'> & {
  request: StartRequest
  stages: StartStage[]
  error: StartError | null
}

export type TokenUsage = Sent<Schemas['TokenUsage']>

/** Amounts are US dollars. */
export type Metrics = Sent<Schemas['MetricsSnapshot']>

export type GoalStatus = Goal['status']

/** An objective that a judge looks at after each of the agent's turns. `iteration`: how often it has. */
export type Goal = Schemas['ConversationGoal']

type ProtocolOnlyField = 'acp_server' | 'launched_agent_profile'

/** `sandbox_error`: why it stands in ERROR. `execution_status`: null while the sandbox is not running. */
export type AppConversation = Sent<
  Omit<Schemas['AppConversation'], ProtocolOnlyField | 'execution_status'>
> & {
  execution_status: ExecutionStatus | null
}

/** A tag, and how many conversations have it. */
export type FilterChoices = Schemas['FilterChoices']
export type TagCount = Schemas['TagCount']

/** What a person may do with a conversation. */
export type Access = NonNullable<AppConversation['access']>

export interface Page<T> {
  items: T[]
  next_page_id: string | null
}

/** `path`: relative to the repository. */
export type GitChange = Schemas['GitChange']

/** `original`: null where the file did not exist on that side. */
export type GitDiff = Sent<Schemas['GitDiff']>

export interface Success {
  success: boolean
}

export type SkillInput = Sent<Schemas['SkillInputInfo']>

/** `paths`: globs of the files it is a rule for. */
export type Skill = Sent<Schemas['SkillInfo']>

/**
 * The origins of skills. If two skills have the same name, the first origin in this order is used. Notes are
 * separate.
 */
export const SKILL_ORIGINS = ['client', 'project', 'user', 'organisation', 'public', 'memory'] as const
export type SkillOrigin = (typeof SKILL_ORIGINS)[number]

/** A file that was looked at, and why it was loaded or not. */
export type SkillFinding = Sent<Schemas['SkillFinding']>

/** `sources`: how many were loaded of each origin. */
export type KnownSkills = Sent<Schemas['SkillsResponse']>
