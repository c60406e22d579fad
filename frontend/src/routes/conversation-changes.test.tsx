import { screen, within } from '@testing-library/react'
import { HttpResponse } from 'msw'
import { describe, expect, it } from 'vitest'
import { problem } from '@/test/handlers'
import { ID, openConversation } from '@/test/open-conversation'
import { fileEdited } from '@/test/sample-log'

const PATCH = `diff --git a/calc.py b/calc.py
index 1..2 100644
--- a/calc.py
+++ b/calc.py
@@ -1,2 +1,2 @@
 def divide(a, b):
-    return a // b
+    return a / b
diff --git "a/gr\\303\\266 \\303\\237e.bin" "b/gr\\303\\266 \\303\\237e.bin"
index 3..4 100644
Binary files "a/gr\\303\\266 \\303\\237e.bin" and "b/gr\\303\\266 \\303\\237e.bin" differ
`

describe('the changes', () => {
  it('lists the changed files with counts and shows the difference', async () => {
    openConversation({ patch: () => new HttpResponse(PATCH) })
    const file = await screen.findByRole('button', { name: /^calc\.py/ })
    expect(within(file).getByRole('img', { name: '1 lines added, 1 removed' })).toBeVisible()
    const row = await screen.findByText(
      (_, element) => element?.textContent === '    return a / b' && element.tagName === 'TD',
    )
    expect(row).toBeVisible()
    expect(screen.getByRole('button', { name: /^grö ße\.bin/ })).toBeVisible()
    expect(await screen.findByText(/A binary file/)).toBeVisible()
    expect(screen.getByRole('link', { name: 'Download the patch' })).toHaveAttribute(
      'href',
      `/api/v1/app-conversations/${ID}/git/patch`,
    )
  })

  it('asks anew when the agent has changed a file', async () => {
    let patch = ''
    const { stream } = openConversation({ patch: () => new HttpResponse(patch) })
    expect(await screen.findByText('No changes')).toBeVisible()
    patch = PATCH
    stream.append(fileEdited('o', 'str_replace'))
    expect(await screen.findByRole('button', { name: /^calc\.py/ })).toBeVisible()
  })

  it('is at peace with a sandbox that sleeps', async () => {
    openConversation({
      patch: () => problem(409, { code: 'sandbox_not_running', detail: 'Send a message to wake it.' }),
    })
    expect(await screen.findByText('The sandbox is not running')).toBeVisible()
    expect(screen.getByText('Send a message to wake it.')).toBeVisible()
  })
})
