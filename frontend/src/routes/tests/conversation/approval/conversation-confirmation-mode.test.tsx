import { screen, waitFor } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { describe, expect, it } from 'vitest'
import type { ConfirmationMode } from '@/api/types'
import type { ConversationEvent } from '@/events/wire/types'
import { openConversation } from '@/test/open-conversation'

function policySet(id: string): ConversationEvent {
  return {
    id,
    timestamp: '2026-01-02T03:04:05.000000',
    kind: 'ConversationStateUpdateEvent',
    source: 'environment',
    key: 'confirmation_policy',
    value: { kind: 'AlwaysConfirm' },
  } as ConversationEvent
}

const present = (world: { mode: ConfirmationMode | null }) => [
  http.get('*/confirmation-mode', () => HttpResponse.json(world)),
]
const button = (mode: string) =>
  screen.findByRole('button', { name: `Before the agent acts: ${mode}. Change it` })

describe('when the agent asks first', () => {
  it('is shown, and changed by the keyboard while it works', async () => {
    const world: { mode: ConfirmationMode | null } = { mode: 'never' }
    const { user, sent, stream } = openConversation({
      conversation: { execution_status: 'running' },
      extra: present(world),
    })
    ;(await button('Run freely in the sandbox')).focus()
    await user.keyboard('{Enter}')
    const chosen = await screen.findByRole('menuitemradio', { name: 'Run freely in the sandbox' })
    expect(chosen).toBeChecked()
    await user.keyboard('{Home}{Enter}')
    await waitFor(() => expect(sent['confirmation-mode']).toEqual([{ mode: 'always' }]))
    world.mode = 'always'
    stream.append(policySet('a'))
    expect(await button('Ask every time')).toBeVisible()
  })

  it('is said of a policy that is none of the modes', async () => {
    openConversation({ extra: present({ mode: null }) })
    expect(await button('Asks by its own rules')).toBeVisible()
  })

  it('is not asked for before the conversation has started', async () => {
    let asked = 0
    const counting = http.get('*/confirmation-mode', () => {
      asked += 1
      return HttpResponse.json({ mode: 'never' })
    })
    openConversation({ conversation: { start_status: 'WAITING_FOR_SANDBOX' }, extra: [counting] })
    expect(await screen.findByRole('heading', { level: 1 })).toBeVisible()
    expect(asked).toBe(0)
  })

  it('is not known of a sandbox that sleeps', async () => {
    openConversation({ conversation: { sandbox_status: 'PAUSED' }, extra: present({ mode: 'never' }) })
    expect(await screen.findByText('Asleep')).toBeVisible()
    expect(screen.queryByRole('button', { name: /Before the agent acts/ })).not.toBeInTheDocument()
  })
})
