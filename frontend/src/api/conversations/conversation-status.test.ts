import { expect, it } from 'vitest'
import { i18n } from '@/i18n/i18n'
import { fakeConversation } from '@/test/factories'
import { conversationStatus, isActive, statusPartsOf, statusText, statusTone } from './conversation-status'
import type { AppConversation } from '@/api/types'

const LOST = { code: 'host_lost', cause: 'The host is away.', fix: 'Wait.', output: '' }

it.each<[string, string, Partial<AppConversation>]>([
  ['Start failed', 'danger', { start_status: 'ERROR' }],
  ['Starting', 'accent', { start_status: 'WORKING', sandbox_status: 'MISSING' }],
  ['Starting', 'accent', { sandbox_status: 'STARTING', execution_status: 'idle' }],
  ['Starting', 'accent', { sandbox_status: 'STARTING', execution_status: 'running' }],
  ['Sandbox failed', 'danger', { sandbox_status: 'ERROR', execution_status: 'finished' }],
  ['Sandbox gone', 'danger', { sandbox_status: 'MISSING', execution_status: 'running' }],
  ['Sandbox gone', 'danger', { sandbox_status: 'MISSING', execution_status: null }],
  ['Sandbox out of reach', 'danger', { sandbox_status: 'MISSING', sandbox_error: LOST }],
  ['Imported', 'neutral', { sandbox_status: 'MISSING', trigger: 'import', execution_status: null }],
  ['Ready', 'success', { execution_status: 'idle' }],
  ['Ready', 'success', { execution_status: null }],
  ['Working', 'accent', { execution_status: 'running' }],
  ['Needs approval', 'warning', { execution_status: 'waiting_for_confirmation' }],
  ['Paused', 'warning', { execution_status: 'paused' }],
  ['Finished', 'success', { execution_status: 'finished' }],
  ['Stopped by an error', 'danger', { execution_status: 'error' }],
  ['Stuck', 'warning', { execution_status: 'stuck' }],
  ['Being deleted', 'neutral', { execution_status: 'deleting' }],
  ['Asleep', 'neutral', { execution_status: 'idle', sandbox_status: 'PAUSED' }],
  ['Asleep', 'neutral', { execution_status: 'running', sandbox_status: 'PAUSED' }],
  ['Asleep', 'neutral', { execution_status: 'finished', sandbox_status: 'PAUSED' }],
  ['Sandbox archived', 'neutral', { execution_status: 'idle', sandbox_status: 'ARCHIVED' }],
  ['Sandbox archived', 'neutral', { execution_status: 'finished', sandbox_status: 'ARCHIVED' }],
])('says "%s" (%s) of %o', (word, tone, fields) => {
  const parts = statusPartsOf(fakeConversation(fields))
  expect(statusText(i18n.t, parts)).toBe(word)
  expect(statusTone(parts)).toBe(tone)
  expect(isActive(conversationStatus(parts))).toBe(tone === 'accent')
})

it('says that it does not know yet', () => {
  const parts = { start: null, sandbox: null, isSandboxLost: false, isImported: false, execution: null }
  expect(statusText(i18n.t, parts)).toBe('Connecting')
})
