import type { SpendingLimit, UserLimit } from '@/api/models/spending'
import type { LLMProfile } from '@/api/types'
import { fakeModelFacts, NO_VALUES } from './model-facts'

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

export function fakeDemoProfile(): LLMProfile {
  return fakeProfile({ name: 'demo', model: 'recorded/demo', api_key_set: false, is_recording: true })
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
