import { screen, waitFor, within } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { openConversation, timeline } from '@/test/open-conversation'
import { toolCall, toolResult } from '@/test/sample-log'

describe('a tool of the client', () => {
  const asked = (id: string, name: string) => ({
    ...toolCall(id, { kind: `ClientAction_${name}`, question: 'Red?' }),
    tool_name: name,
    timestamp: new Date(Date.now() - 65_000).toISOString().slice(0, -1),
  })
  const running = { conversation: { execution_status: 'running', last_seq: 0 } } as const

  it('waits for the answer, and the agent with it', async () => {
    const { stream } = openConversation({ ...running, events: [asked('a', 'ask_user')] })
    const log = within(await timeline())
    const card = await log.findByRole('button', {
      name: /^ask_user.*1 m \d\d s.*Waits for the client's answer$/,
    })
    expect(within(card).queryByText('running')).not.toBeInTheDocument()
    expect(screen.getByText('Working')).toBeVisible()
    expect(screen.getByText("Waiting for the client's answer: ask_user")).toBeVisible()
    stream.append(toolResult('a', 'ClientToolObservation', 'Yes, red.'))
    await waitFor(() => expect(screen.queryByText(/client's answer/)).not.toBeInTheDocument())
    expect(screen.getByText('Working')).toBeVisible()
  })

  it('is not all the agent waits for while a command runs', async () => {
    openConversation({
      ...running,
      events: [asked('a', 'ask_user'), toolCall('b', { kind: 'TerminalAction', command: 'make' })],
    })
    expect(await screen.findByText("Waits for the client's answer")).toBeVisible()
    expect(screen.getByText('Working')).toBeVisible()
  })
})
