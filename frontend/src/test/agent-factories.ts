import type { MemoryNote, MemoryProposal } from '@/api/agents/memory-types'
import type { McpServer } from '@/api/agents/mcp-servers'
import type { Consent, Executable } from '@/api/approval/executables'
import type { Skill, SkillFinding } from '@/api/types'
import { fakeId, NOW } from './factories'

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

export function fakeExecutable(overrides: Partial<Executable> = {}, text = 'make install\n'): Executable {
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
  const offer = fakeExecutable()
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
