import { screen, waitFor, within } from '@testing-library/react'
import { http } from 'msw'
import { describe, expect, it } from 'vitest'
import { pendingActions } from '@/features/chat/approval/pending-actions'
import { emptyView, fold } from '@/events/fold/reduce'
import type { ConversationEvent, Frame } from '@/events/wire/types'
import { problem } from '@/test/handlers'
import { composer, openConversation, timeline } from '@/test/open-conversation'
import { statusChange } from '@/test/sample-log'
import { server } from '@/test/server'

const common = { timestamp: '2026-01-02T03:04:05.000000' }

function wants(id: string, command: string): ConversationEvent {
  return {
    ...common,
    id,
    kind: 'ActionEvent',
    source: 'agent',
    thought: [],
    action: { kind: 'TerminalAction', command },
    tool_name: 'terminal',
    tool_call_id: `call-${id}`,
    llm_response_id: 'reply',
    summary: `Runs ${command}`,
  } as ConversationEvent
}

const analysis = {
  ...common,
  id: 'analysis',
  kind: 'SecurityAnalysisEvent',
  source: 'environment',
  analyzer: 'CommandRules',
  policy: 'ConfirmRisky',
  risks: { a: 'LOW', b: 'HIGH' },
  details: {
    a: { reasons: [], asks: false },
    b: { reasons: ['overwrites what others may have'], asks: true },
  },
} as ConversationEvent

const EVENTS = [
  wants('a', 'ls'),
  wants('b', 'git push -f'),
  analysis,
  statusChange('s', 'waiting_for_confirmation'),
]
const WAITING = { execution_status: 'waiting_for_confirmation', last_seq: EVENTS.length } as const

const question = () => screen.findByRole('region', { name: /Approval needed/ })

describe('a batch that waits', () => {
  it('is shown whole, each step with its risk and why', async () => {
    openConversation({ events: EVENTS, conversation: WAITING })
    const steps = within(await question()).getAllByRole('listitem')
    expect(steps.map((step) => step.textContent)).toEqual([
      'Low riskRuns lsAllowRejectls',
      'High riskRuns git push -fAllowRejectReason: overwrites what others may have.git push -f',
    ])
  })

  it('shows a file as it would be changed, under its whole path', async () => {
    const path = '/srv/box/workspace/project/app/notes.md'
    const edit = { kind: 'FileEditorAction', command: 'create', path, file_text: 'one\n"two"\n' }
    const change = { ...wants('c', ''), tool_name: 'file_editor', action: edit, summary: null }
    openConversation({
      events: [change as ConversationEvent, statusChange('s', 'waiting_for_confirmation')],
      conversation: { ...WAITING, last_seq: 2 },
    })
    const step = within(await question()).getByRole('listitem')
    expect(step).toHaveTextContent(`Create ${path}`)
    expect(within(step).getByText('"two"')).toBeVisible()
  })

  it('is approved, with what the reader has seen', async () => {
    const { user, sent } = openConversation({ events: EVENTS, conversation: WAITING })
    await user.click(within(await question()).getByRole('button', { name: 'Allow all 2 steps' }))
    await waitFor(() =>
      expect(sent['respond-to-confirmation']).toEqual([{ accept: true, action_ids: ['a', 'b'] }]),
    )
  })

  it('is approved together by keyboard', async () => {
    const { user, sent } = openConversation({ events: EVENTS, conversation: WAITING })
    await question()
    await user.click(await composer())
    await user.keyboard('Wait{Control>}{Enter}{/Control}')
    expect(sent['respond-to-confirmation']).toBeUndefined()
    await user.clear(await composer())
    await user.keyboard('{Control>}{Enter}{/Control}')
    await waitFor(() =>
      expect(sent['respond-to-confirmation']).toEqual([{ accept: true, action_ids: ['a', 'b'] }]),
    )
  })

  it('stands whole in the question only', async () => {
    const long = `make ${'x'.repeat(70)}`
    openConversation({
      events: [wants('a', long), statusChange('s', 'waiting_for_confirmation')],
      conversation: { ...WAITING, last_seq: 2 },
    })
    expect(within(await question()).getByText(long)).toBeVisible()
    expect(within(await timeline()).queryByText(new RegExp(`^\\$? ?${long}$`))).not.toBeInTheDocument()
  })

  it('is approved for all alike', async () => {
    const { user, sent } = openConversation({ events: EVENTS, conversation: WAITING })
    await user.click(within(await question()).getByRole('button', { name: /Always allow/ }))
    await waitFor(() =>
      expect(sent['respond-to-confirmation']).toEqual([
        { accept: true, remember: true, action_ids: ['a', 'b'] },
      ]),
    )
  })

  it('is refused with a reason, by keyboard alone', async () => {
    const { user, sent } = openConversation({ events: EVENTS, conversation: WAITING })
    within(await question())
      .getByRole('button', { name: 'Reject all 2 steps' })
      .focus()
    await user.keyboard('{Enter}Not on a Friday{Enter}')
    await waitFor(() =>
      expect(sent['respond-to-confirmation']).toEqual([
        { accept: false, reason: 'Not on a Friday', action_ids: ['a', 'b'] },
      ]),
    )
  })

  it('is answered step by step, by keyboard alone', async () => {
    const { user, sent } = openConversation({ events: EVENTS, conversation: WAITING })
    const box = within(await question())
    within(box.getByRole('radiogroup', { name: 'Answer to: Runs ls' }))
      .getByRole('radio', { name: 'Allow' })
      .focus()
    await user.keyboard(' ')
    expect(box.getByRole('radio', { name: 'Allow', checked: true })).toHaveFocus()
    expect(box.getByRole('status')).toHaveTextContent('One step still needs an answer.')
    expect(box.getByRole('button', { name: 'Send answers' })).toBeDisabled()
    await user.keyboard('{Control>}{Enter}{/Control}')
    expect(sent['respond-to-confirmation']).toBeUndefined()

    const second = box.getByRole('radiogroup', { name: 'Answer to: Runs git push -f' })
    within(second).getByRole('radio', { name: 'Allow' }).focus()
    await user.keyboard('{ArrowRight>}')
    await waitFor(() => expect(within(second).getByRole('radio', { name: 'Reject' })).toBeChecked())
    await user.keyboard('{/ArrowRight}')
    box.getByRole('textbox', { name: 'Reason for the agent' }).focus()
    await user.keyboard('Not on a Friday{Enter}')
    await waitFor(() =>
      expect(sent['respond-to-confirmation']).toEqual([
        { accept: false, reason: 'Not on a Friday', action_ids: ['a', 'b'], approved_action_ids: ['a'] },
      ]),
    )
  })

  it.each([
    ['Allow', { accept: true, action_ids: ['a', 'b'] }],
    ['Reject', { accept: false, reason: '', action_ids: ['a', 'b'] }],
  ])('is one answer where all steps get the same: %s', async (name, answer) => {
    const { user, sent } = openConversation({ events: EVENTS, conversation: WAITING })
    const box = within(await question())
    for (const choice of box.getAllByRole('radio', { name })) await user.click(choice)
    await user.click(box.getByRole('button', { name: 'Send answers' }))
    await waitFor(() => expect(sent['respond-to-confirmation']).toEqual([answer]))
  })

  it('says so when somebody else has answered', async () => {
    const { user } = openConversation({ events: EVENTS, conversation: WAITING })
    server.use(
      http.post('*/respond-to-confirmation', () =>
        problem(409, { code: 'nothing_to_confirm', detail: 'No action waits to be confirmed.' }),
      ),
    )
    await user.click(within(await question()).getByRole('button', { name: 'Allow all 2 steps' }))
    expect(await screen.findByText('No action waits to be confirmed.')).toBeVisible()
  })

  it('is gone once the agent goes on', async () => {
    openConversation({
      events: [...EVENTS, statusChange('r', 'running')],
      conversation: { execution_status: 'running', last_seq: EVENTS.length + 1 },
    })
    await screen.findByText('git push -f')
    await waitFor(() =>
      expect(screen.queryByRole('region', { name: /Approval needed/ })).not.toBeInTheDocument(),
    )
  })
})

it('what waits is what has no answer, with what was found in it', () => {
  const frames = EVENTS.map((event, index): Frame => ({ type: 'durable', seq: index + 1, event }))
  const view = fold(emptyView, frames)
  expect(pendingActions(view).map(({ event, risk, asks }) => [event.id, risk, asks])).toEqual([
    ['a', 'LOW', false],
    ['b', 'HIGH', true],
  ])
  const refused = {
    ...common,
    id: 'x',
    kind: 'UserRejectObservation',
    source: 'environment',
    tool_name: 'terminal',
    tool_call_id: 'call-a',
    action_id: 'a',
    rejection_reason: 'No.',
    rejection_source: 'user',
  } as ConversationEvent
  const later = fold(view, [{ type: 'durable', seq: EVENTS.length + 1, event: refused }])
  expect(pendingActions(later).map(({ event }) => event.id)).toEqual(['b'])
})
