import { START_STAGES, type AppConversation, type LLMProfile, type StartTask, type User } from '@/api/types'
import type { WebClientConfig } from '@/api/types'

let next = 0
const fakeId = () => (next++).toString(16).padStart(32, '0')
const NOW = '2026-01-02T03:04:05Z'

export function fakeUser(overrides: Partial<User> = {}): User {
  return { id: fakeId(), name: 'Ada', role: 'owner', ...overrides }
}

export function fakeConfig(overrides: Partial<WebClientConfig> = {}): WebClientConfig {
  return {
    version: '0.1.0',
    sandbox: { backend: 'docker', is_isolated: true, warning: null },
    demo: { profile: 'demo', repository: '/srv/demo', task: 'Fix the failing test.' },
    ...overrides,
  }
}

export function fakeProfile(overrides: Partial<LLMProfile> = {}): LLMProfile {
  return {
    name: 'sonnet',
    model: 'anthropic/claude-sonnet-4-5',
    base_url: null,
    api_key_set: true,
    is_recording: false,
    ...overrides,
  }
}

export function fakeDemoProfile(): LLMProfile {
  return fakeProfile({ name: 'demo', model: 'recorded/demo', api_key_set: false, is_recording: true })
}

export function fakeConversation(overrides: Partial<AppConversation> = {}): AppConversation {
  return {
    id: fakeId(),
    created_by_user_id: null,
    sandbox_id: null,
    selected_repository: '/srv/app',
    selected_branch: null,
    git_provider: null,
    title: 'Fix the failing test',
    trigger: 'gui',
    pr_number: [],
    llm_model: 'anthropic/claude-sonnet-4-5',
    llm_profile: 'sonnet',
    agent_kind: 'openhands',
    metrics: null,
    parent_conversation_id: null,
    sub_conversation_ids: [],
    public: false,
    tags: {},
    created_at: NOW,
    updated_at: NOW,
    sandbox_status: 'RUNNING',
    execution_status: 'idle',
    conversation_url: null,
    session_api_key: null,
    start_status: 'READY',
    last_seq: 0,
    ...overrides,
  }
}

export function fakeStartTask(overrides: Partial<StartTask> = {}): StartTask {
  const id = overrides.id ?? fakeId()
  return {
    id,
    created_by_user_id: null,
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
