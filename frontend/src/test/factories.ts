import type { RuntimePlugin } from '@/api/sandboxes/runtime-plugins'
import type { SandboxSpec } from '@/api/sandboxes/sandbox-specs'
import {
  START_STAGES,
  type AppConversation,
  type StartTask,
  type User,
  type WebClientConfig,
} from '@/api/types'

let next = 0
export const fakeId = () => (next++).toString(16).padStart(32, '0')
export const NOW = '2026-01-02T03:04:05Z'

export function fakeUser(overrides: Partial<User> = {}): User {
  const { role = 'owner' } = overrides
  const administers_installation = role === 'owner' || role === 'admin'
  return { id: fakeId(), name: 'Ada', role, administers_installation, ...overrides }
}

export function fakeConfig(overrides: Partial<WebClientConfig> = {}): WebClientConfig {
  return {
    version: '0.1.0',
    ports_have_names: true,
    password_sign_in: true,
    sends_mail: false,
    sandbox: { backend: 'docker', isolation: 'full', is_isolated: true, warning: null },
    workspace_limit: { bytes: 20 * 1024 ** 3, kept_by: 'disk' },
    demo: { profile: 'demo', repository: '/srv/demo', task: 'Fix the failing test.' },
    ...overrides,
  }
}

export function fakeSandboxSpec(overrides: Partial<SandboxSpec> = {}): SandboxSpec {
  return {
    id: 'default',
    name: 'default',
    base: 'debian:bookworm-slim',
    origin: null,
    dockerfile: null,
    ignored: [],
    runtime_plugins: null,
    created_at: NOW,
    level: overrides.id ? 'user' : null,
    team_name: null,
    ...overrides,
  }
}

export function fakeConversation(overrides: Partial<AppConversation> = {}): AppConversation {
  return {
    id: fakeId(),
    created_by_user_id: 'd'.repeat(32),
    sandbox_id: null,
    archived: false,
    selected_repository: '/srv/app',
    selected_branch: null,
    selected_directory: null,
    more_repositories: [],
    git_provider: null,
    title: 'Fix the failing test',
    trigger: 'gui',
    pr_number: [],
    llm_model: 'anthropic/claude-sonnet-4-5',
    llm_profile: 'sonnet',
    agent_kind: 'openhands',
    metrics: null,
    prompt_cache: null,
    program_usage: null,
    goal: null,
    parent_conversation_id: null,
    sub_conversation_ids: [],
    forked_from_conversation_id: null,
    public: false,
    tags: {},
    created_at: NOW,
    updated_at: NOW,
    sandbox_status: 'RUNNING',
    sandbox_error: null,
    execution_status: 'idle',
    conversation_url: null,
    session_api_key: null,
    needs_you: null,
    start_status: 'READY',
    last_seq: 0,
    owner_name: 'Owner',
    is_shared: false,
    access: 'own',
    ...overrides,
  }
}

export function fakeStartTask(overrides: Partial<StartTask> = {}): StartTask {
  const id = overrides.id ?? fakeId()
  return {
    id,
    created_by_user_id: 'd'.repeat(32),
    status: 'WORKING',
    detail: null,
    app_conversation_id: id,
    sandbox_id: null,
    agent_server_url: null,
    request: {},
    created_at: NOW,
    updated_at: NOW,
    stages: START_STAGES.map((status) => ({
      status,
      state: 'pending',
      started_at: null,
      finished_at: null,
      detail: null,
      output: null,
    })),
    error: null,
    ...overrides,
  }
}

export function fakeRuntimePlugin(overrides: Partial<RuntimePlugin> = {}): RuntimePlugin {
  return {
    name: 'vscode',
    title: 'VS Code',
    status: 'stopped',
    port: 8001,
    reason: null,
    fix: null,
    ...overrides,
  }
}
