import { within } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { openConversation, timeline } from '@/test/open-conversation'
import { toolCall, toolResult } from '@/test/sample-log'

describe('a cell of a notebook', () => {
  const pixel = 'data:image/png;base64,iVBORw0KGgo='

  it('shows its code, what it printed and what it drew', async () => {
    const cell = { ...toolCall('a', { kind: 'MCPToolAction', data: { code: 'plot(x)', restart: true } }) }
    const drawn = {
      content: [
        { type: 'text', text: 'x has 3 rows\n[picture 1]' },
        { type: 'image', image_urls: [pixel] },
      ],
      tool_name: 'execute_ipython_cell',
    }
    openConversation({
      events: [
        { ...cell, tool_name: 'execute_ipython_cell', summary: 'Plot the rows' },
        toolResult('a', 'MCPToolObservation', '', drawn),
      ],
    })
    const log = within(await timeline())
    expect(await log.findByRole('button', { name: /Plot the rows\s*New kernel/ })).toBeVisible()
    expect(log.getByText('plot(x)')).toBeVisible()
    expect(log.getByText(/x has 3 rows/)).toBeVisible()
    expect(log.getByRole('img')).toHaveAttribute('src', pixel)
  })
})
