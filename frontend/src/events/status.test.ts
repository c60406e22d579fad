import { describe, expect, it } from 'vitest'
import { fakeConversation, fakeStartTask } from '@/test/factories'
import { emptyView, type ConversationView } from '@/events/fold/reduce'
import { NO_PAGES } from './pages'
import { agentStatus, runningSince } from './status'

const state = (view: Partial<ConversationView>) => ({
  view: { ...emptyView, ...view },
  connection: { state: 'open' as const },
  outgoing: [],
  ...NO_PAGES,
})
const running = { value: 'running' as const, seq: 5, since: '2026-01-02T03:04:05' }

describe('what the agent is doing', () => {
  it.each([
    ['nothing is known yet', {}, 'loading'],
    ['it is being started', { startTask: fakeStartTask() }, 'starting'],
    ['the start failed', { startTask: fakeStartTask({ status: 'ERROR' }) }, 'start_failed'],
    ['it is up', { conversation: fakeConversation({ execution_status: 'idle' }) }, 'idle'],
    [
      'the sandbox has gone to sleep in the middle of a run',
      {
        conversation: fakeConversation({ sandbox_status: 'PAUSED', execution_status: null }),
        loggedStatus: running,
      },
      'sandbox_asleep',
    ],
    [
      'its files lie in an archive',
      { conversation: fakeConversation({ sandbox_status: 'ARCHIVED', execution_status: null }) },
      'sandbox_archived',
    ],
    [
      'the log is ahead of the server’s row',
      { conversation: fakeConversation({ execution_status: 'idle', last_seq: 4 }), loggedStatus: running },
      'running',
    ],
    [
      'history that says running is being replayed',
      {
        conversation: fakeConversation({ execution_status: 'finished', last_seq: 9 }),
        loggedStatus: running,
      },
      'finished',
    ],
    [
      'a retried start is known before the conversation follows',
      {
        conversation: fakeConversation({ start_status: 'ERROR', updated_at: '2026-01-01T00:00:00Z' }),
        startTask: fakeStartTask({ status: 'WORKING', updated_at: '2026-01-01T00:00:01Z' }),
      },
      'starting',
    ],
  ] as const)('when %s', (_, view, expected) => {
    expect(agentStatus(state(view))).toBe(expected)
  })

  it('knows since when it has been running, only while it is', () => {
    const conversation = fakeConversation({ execution_status: 'running', last_seq: 4 })
    expect(runningSince(state({ conversation, loggedStatus: running }))).toBe('2026-01-02T03:04:05')
    const stopped = fakeConversation({ execution_status: 'paused', last_seq: 9 })
    expect(runningSince(state({ conversation: stopped, loggedStatus: running }))).toBeNull()
  })
})
