import { fakeModelFacts, NO_VALUES } from './model-facts'
import type { MemoryNote, MemoryProposal } from '@/api/agents/memory-types'
import type { RuntimePlugin } from '@/api/sandboxes/runtime-plugins'
import type { SandboxSpec } from '@/api/sandboxes/sandbox-specs'
import type { SpendingLimit, UserLimit } from '@/api/models/spending'
import type { Consent, Offer } from '@/api/approval/offers'
import {
  START_STAGES,
  type AppConversation,
  type LLMProfile,
  type Skill,
  type SkillFinding,
  type StartTask,
  type User,
  type WebClientConfig,
} from '@/api/types'
import type { McpServer } from '@/api/agents/mcp-servers'

let next = 0
const fakeId = () => (next++).toString(16).padStart(32, '0')
const NOW = '2026-01-02T03:04:05Z'

export function fakeUser(overrides: Partial<User> = {}): User {
  return { id: fakeId(), name: 'Ada', role: 'owner', ...overrides }
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

export function fakeProfile(overrides: Partial<LLMProfile> = {}): LLMProfile {
  return {
    name: 'sonnet',
    model: 'anthropic/claude-sonnet-4-5',
    base_url: null,
    api_key_set: true,
    ...NO_VALUES,
    extra_header_names: [],
    is_own: true,
    is_shared: false,
    is_recording: false,
    facts: fakeModelFacts(),
    ...overrides,
  }
}

export function fakeSpendingLimit(overrides: Partial<SpendingLimit> = {}): SpendingLimit {
  return {
    limit: null,
    period: 'month',
    raised: 0,
    spent: 1.25,
    began_at: '2026-11-01T00:00:00Z',
    administered: null,
    ...overrides,
  }
}

export function fakeUserLimit(overrides: Partial<UserLimit> = {}): UserLimit {
  return {
    user_id: 'u1',
    name: 'Ada',
    limit: null,
    period: 'month',
    spent: 1.25,
    began_at: '2026-11-01T00:00:00Z',
    follows_default: true,
    ...overrides,
  }
}

export function fakeMcpServer(overrides: Partial<McpServer> = {}): McpServer {
  return {
    transport: overrides.command ? 'stdio' : 'http',
    url: overrides.command ? null : 'https://mcp.example.org/mcp',
    headers: {},
    auth: null,
    sign_in: null,
    wanted_scope: null,
    command: null,
    args: [],
    env: {},
    env_hosts: {},
    cwd: null,
    timeout: 300,
    description: null,
    enabled: true,
    ...overrides,
  }
}

export function fakeDemoProfile(): LLMProfile {
  return fakeProfile({ name: 'demo', model: 'recorded/demo', api_key_set: false, is_recording: true })
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

export function fakeSkill(overrides: Partial<Skill> = {}): Skill {
  return {
    name: 'release',
    type: 'knowledge',
    content: 'Tag it.',
    triggers: [],
    inputs: [],
    paths: [],
    source: null,
    description: null,
    is_agentskills_format: false,
    disable_model_invocation: false,
    ...overrides,
  }
}

export function fakeFinding(overrides: Partial<SkillFinding> = {}): SkillFinding {
  return {
    path: 'AGENTS.md',
    name: 'AGENTS.md',
    origin: 'project',
    is_loaded: true,
    reason: 'x',
    ...overrides,
  }
}

export function fakeProposal(overrides: Partial<MemoryProposal> = {}): MemoryProposal {
  return {
    id: fakeId(),
    kind: 'new',
    repository: 'github.com/ada/engine',
    name: 'tests',
    title: 'Running the tests',
    text: 'Use make check.',
    conversation_id: fakeId(),
    created_at: '2026-11-21T09:00:00Z',
    ...overrides,
  }
}

export function fakeNote(overrides: Partial<MemoryNote> = {}): MemoryNote {
  return {
    id: fakeId(),
    repository: 'github.com/ada/engine',
    name: 'running-the-tests',
    title: 'Running the tests',
    text: 'Use make check.',
    conversation_id: null,
    created_at: NOW,
    updated_at: NOW,
    ...overrides,
  }
}

export function fakeOffer(overrides: Partial<Offer> = {}, text = 'make install\n'): Offer {
  const path = '.openhands/setup.sh'
  return {
    kind: 'setup_script',
    path,
    name: path,
    hash: 'a'.repeat(64),
    runs: [`. ${path}`],
    definition: null,
    files: [{ path, sha256: 'e'.repeat(64), size: text.length, text }],
    left_out: [],
    problem: null,
    ...overrides,
  }
}

export function fakeConsent(overrides: Partial<Consent> = {}): Consent {
  const offer = fakeOffer()
  return {
    id: fakeId(),
    repository: 'github.com/ada/engine',
    kind: offer.kind,
    path: offer.path,
    name: offer.name,
    hash: offer.hash,
    decision: 'allowed',
    offer,
    created_at: NOW,
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
