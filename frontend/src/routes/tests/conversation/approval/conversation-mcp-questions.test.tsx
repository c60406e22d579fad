import { screen, waitFor, within } from '@testing-library/react'
import { http } from 'msw'
import { describe, expect, it } from 'vitest'
import type { ConversationEvent } from '@/events/wire/types'
import { problem } from '@/test/handlers'
import { openConversation } from '@/test/open-conversation'
import { server } from '@/test/server'

const form = {
  id: 'q1',
  server: 'harbour',
  message: 'Which ship comes to Oslo?',
  requested_schema: {
    type: 'object',
    properties: {
      name: { type: 'string', title: 'Name of the ship' },
      metres: { type: 'integer', title: 'Length', default: 12 },
      power: { type: 'boolean', title: 'Shore power', default: true },
      side: { type: 'string', title: 'Side', enum: ['port', 'starboard'], default: 'starboard' },
      days: {
        type: 'array',
        title: 'Days',
        items: {
          anyOf: [
            { const: 'sat', title: 'Saturday' },
            { const: 'sun', title: 'Sunday' },
          ],
        },
        default: ['sun'],
      },
      note: { type: 'string', title: 'Note' },
    },
    required: ['name'],
  },
}

function update(id: string, key: string, value: unknown): ConversationEvent {
  return {
    id,
    timestamp: '2026-01-02T03:04:05.000000',
    kind: 'ConversationStateUpdateEvent',
    source: 'environment',
    key,
    value,
  } as ConversationEvent
}

const tells = (id: string, ...questions: unknown[]) => update(id, 'agent_state', { mcp_questions: questions })
const question = () => screen.findByRole('form', { name: 'The MCP server harbour asks you' })

describe('a question of an MCP server', () => {
  it('comes with its defaults, and they are sent with what is entered', async () => {
    const { user, sent } = openConversation({ events: [tells('a', form)] })
    const shown = within(await question())
    expect(shown.getByText('Which ship comes to Oslo?')).toBeVisible()
    expect(shown.getByLabelText('Length')).toHaveValue(12)
    expect(shown.getByLabelText('Shore power')).toBeChecked()
    expect(shown.getByLabelText('Side')).toHaveValue('starboard')
    expect(shown.getByLabelText('Sunday')).toBeChecked()
    await user.type(shown.getByLabelText('Name of the ship'), 'Fram')
    await user.click(shown.getByLabelText('Saturday'))
    await user.click(shown.getByRole('button', { name: 'Send the answer' }))
    const content = { name: 'Fram', metres: 12, power: true, side: 'starboard', days: ['sun', 'sat'] }
    await waitFor(() =>
      expect(sent['answer-mcp-question']).toEqual([{ question_id: 'q1', action: 'accept', content }]),
    )
  })

  it('can be declined', async () => {
    const { user, sent } = openConversation({ events: [tells('a', form)] })
    await user.click(within(await question()).getByRole('button', { name: 'Decline' }))
    await waitFor(() =>
      expect(sent['answer-mcp-question']).toEqual([{ question_id: 'q1', action: 'decline' }]),
    )
  })

  it('that is a page is a link to it', async () => {
    const page = { id: 'q2', server: 'harbour', message: 'Pay there.', url: 'https://pay.example.org/7' }
    const { user, sent } = openConversation({ events: [tells('a', page)] })
    const shown = within(await question())
    expect(shown.getByRole('link')).toHaveAttribute('href', page.url)
    await user.click(shown.getByRole('button', { name: 'Done' }))
    await waitFor(() =>
      expect(sent['answer-mcp-question']).toEqual([{ question_id: 'q2', action: 'accept' }]),
    )
  })

  it.each([
    ['is answered', tells('b')],
    ['runs no more', update('b', 'execution_status', 'paused')],
  ])('is gone once it %s', async (_, event) => {
    const { stream } = openConversation({ events: [tells('a', form)] })
    const shown = await question()
    stream.append(event)
    await waitFor(() => expect(shown).not.toBeInTheDocument())
  })

  it('says what does not fit', async () => {
    const { user } = openConversation({ events: [tells('a', form)] })
    server.use(
      http.post('*/answer-mcp-question', () =>
        problem(400, { code: 'mcp_answer_invalid', detail: 'The field name must satisfy {"minLength":2}.' }),
      ),
    )
    const shown = within(await question())
    await user.type(shown.getByLabelText('Name of the ship'), 'F')
    await user.click(shown.getByRole('button', { name: 'Send the answer' }))
    expect(await screen.findByText('The field name must satisfy {"minLength":2}.')).toBeVisible()
  })
})
