import { within } from '@testing-library/react'
import { expect, it } from 'vitest'
import { openConversation, timeline } from '@/test/open-conversation'
import { action, toolResult } from '@/test/sample-log'

it('shows what a command prints while it runs, in its colours, and then the result', async () => {
  const { stream } = openConversation({ events: [action('a', 'make check')] })
  const log = within(await timeline())
  await log.findByRole('button', { name: /make check/ })
  stream.send({
    type: 'output',
    outputs: [{ action_id: 'a', text: '🎨 3 passed\n', styles: [[2, 10, '32']] }],
  })
  expect(await log.findByText('3 passed')).toHaveClass('ansi-front')
  stream.append(
    toolResult('a', 'TerminalObservation', 'all passed', {
      command: 'make check',
      exit_code: 0,
      metadata: { styles: [[4, 10, '1;32']] },
    }),
  )
  expect(await log.findByText('passed')).toHaveClass('ansi-front', 'font-semibold')
  expect(log.queryByText('3 passed')).not.toBeInTheDocument()
})
