import { within } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { openConversation, timeline } from '@/test/open-conversation'
import { toolCall, toolResult } from '@/test/sample-log'

const ROOT = '/srv/box/workspace/project/app'

describe('what a tool tells the model', () => {
  it('is shown in words for people, and word for word on demand', async () => {
    const told = `${ROOT}/a.py, lines 1-2 of 9:\n     1\ta\n     2\tb\n<response clipped> Ask for view_range [3, 9] to go on.`
    const { user } = openConversation({
      events: [
        toolCall('a', { kind: 'FileEditorAction', command: 'view', path: `${ROOT}/a.py` }),
        toolResult('a', 'FileEditorObservation', told),
      ],
    })
    const log = within(await timeline())
    await user.click(await log.findByRole('button', { name: /a\.py/ }))
    expect(log.getByText(/^Lines 1–2 of 9/)).toBeVisible()
    expect(log.getByText(/view_range/)).not.toBeVisible()
    await user.click(log.getByText('What the agent was told'))
    expect(log.getByText(/view_range/)).toBeVisible()
  })
})
