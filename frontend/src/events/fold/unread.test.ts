import { expect, it } from 'vitest'
import { action, agentMessage, observation, statusChange, userMessage } from '@/test/sample-log'
import { emptyView, fold } from './reduce'
import type { ConversationEvent } from '@/events/wire/types'

function unreadAfter(...events: ConversationEvent[]): string[] {
  const frames = events.map((event, index) => ({ type: 'durable' as const, seq: index + 1, event }))
  return fold(emptyView, frames).unread.map(({ id }) => id)
}

const WORKING = [userMessage('m', 'Go'), statusChange('s', 'running'), action('a', 'sleep 60')]

it('takes a message for read only when the agent has gone on', () => {
  const sent = [...WORKING, userMessage('n', 'Stop!')]
  expect(unreadAfter(...WORKING)).toEqual([])
  expect(unreadAfter(...sent)).toEqual(['n'])
  expect(unreadAfter(...sent, observation('o', 'a', ''))).toEqual(['n'])
  expect(unreadAfter(...sent, observation('o', 'a', ''), agentMessage('r', 'I stop.'))).toEqual([])
})

it('knows that a reply which was being written cannot have read it', () => {
  const sent = [...WORKING, observation('o', 'a', ''), userMessage('n', 'Stop!')]
  const twoCalls = [action('b', 'ls'), action('c', 'ls')].map((each) => ({ ...each, llm_response_id: 'one' }))
  expect(unreadAfter(...sent, ...twoCalls)).toEqual(['n'])
  expect(unreadAfter(...sent, ...twoCalls, agentMessage('r', 'I stop.'))).toEqual([])
})

it('leaves nothing unread at the end of a run', () => {
  expect(unreadAfter(...WORKING, userMessage('n', 'Stop!'), statusChange('t', 'finished'))).toEqual([])
})
