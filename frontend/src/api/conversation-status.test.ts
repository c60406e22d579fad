import { expect, it } from 'vitest'
import { fakeConversation } from '@/test/factories'
import { conversationPhase } from './conversation-phase'
import type { AppConversation } from './types'

it.each<[string, Partial<AppConversation>]>([
  ['failed', { start_status: 'ERROR' }],
  ['failed', { sandbox_status: 'ERROR', execution_status: 'finished' }],
  ['failed', { sandbox_status: 'MISSING', execution_status: 'running' }],
  ['failed', { sandbox_status: 'MISSING', execution_status: null }],
  ['starting', { start_status: 'WORKING', sandbox_status: 'MISSING' }],
  ['starting', { sandbox_status: 'STARTING', execution_status: 'idle' }],
  ['starting', { sandbox_status: 'STARTING', execution_status: 'running' }],
  ['working', { execution_status: 'running' }],
  ['waiting', { execution_status: 'waiting_for_confirmation', sandbox_status: 'PAUSED' }],
  ['finished', { execution_status: 'finished', sandbox_status: 'PAUSED' }],
  ['ready', { execution_status: 'idle' }],
  ['asleep', { execution_status: 'idle', sandbox_status: 'PAUSED' }],
  ['archived', { execution_status: 'idle', sandbox_status: 'ARCHIVED' }],
])('is %s of %o', (phase, conversation) => {
  expect(conversationPhase(fakeConversation(conversation))).toBe(phase)
})
