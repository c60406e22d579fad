import { screen, waitFor, within } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { describe, expect, it, vi } from 'vitest'
import { fakeConversation } from '@/test/factories'
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
  })

  it('groups the files by repository, and names what could not be loaded', async () => {
    const found = { branch: null, git_provider: null, base_commit: null }
    const lamp = { ...found, repository: 'https://lab.example/crew/lamp.git', directory: 'lamp' }
    const pier = { ...found, repository: 'https://lab.example/crew/pier.git', directory: 'pier' }
    openConversation({
      conversation: {
        selected_repository: 'https://github.com/team/harbour.git',
        more_repositories: [lamp, pier],
      },
      extra: [
        http.get('*/git/patch', ({ request }) => {
          const which = new URL(request.url).searchParams.get('repository')
          if (which === 'pier') return problem(502, { code: 'agent_server_error', detail: 'No answer.' })
          return new HttpResponse(which === 'lamp' ? PATCH : '')
        }),
      ],
    })
    const first = within(await screen.findByRole('region', { name: /harbour/ }))
    expect(await first.findByText('No changes')).toBeVisible()
    const second = within(await screen.findByRole('region', { name: lamp.repository }))
    expect(second.getByRole('heading', { name: 'crew/lamp' })).toBeVisible()
    expect(await second.findByRole('button', { name: /^calc\.py/ })).toBeVisible()
    const third = within(await screen.findByRole('region', { name: pier.repository }))
    expect(await third.findByText('The changes could not be loaded.')).toBeVisible()
  })

  it('saves the patch that it shows as a file', async () => {
    const saved: Blob[] = []
    URL.createObjectURL = (blob) => `blob:${saved.push(blob as Blob)}`
    URL.revokeObjectURL = () => {}
    const clicked: string[] = []
    vi.spyOn(HTMLAnchorElement.prototype, 'click').mockImplementation(function (this: HTMLAnchorElement) {
      clicked.push(`${this.download} ${this.href}`)
    })
    const { user } = openConversation({ patch: () => new HttpResponse(PATCH) })
    await user.click(await screen.findByRole('button', { name: 'Download the patch' }))
    expect(clicked).toEqual([`${ID}.patch blob:1`])
    expect(saved[0]?.size).toBe(new Blob([PATCH]).size)
  })

  it('asks anew when the agent has changed a file', async () => {
    let patch = ''
    const { stream } = openConversation({ patch: () => new HttpResponse(patch) })
    expect(await screen.findByText('No changes')).toBeVisible()
    patch = PATCH
    stream.append(fileEdited('o', 'str_replace'))
    expect(await screen.findByRole('button', { name: /^calc\.py/ })).toBeVisible()
  })

  it('asks once for what a replayed history tells', async () => {
    let asked = 0
    const { stream } = openConversation({
      events: [fileEdited('o', 'str_replace')],
      patch: () => (asked++, new HttpResponse(PATCH)),
    })
    expect(await screen.findByRole('button', { name: /^calc\.py/ })).toBeVisible()
    await new Promise((resolve) => setTimeout(resolve, 1000)) // longer than the pause before a refresh
    expect(asked).toBe(1)
    stream.append(fileEdited('p', 'str_replace'))
    await waitFor(() => expect(asked).toBe(2))
  })

  it('shows what was pushed, and why something was not', async () => {
    const push = {
      id: 'p',
      repository: 'github.com/ada/engine',
      ref: 'refs/heads/mend',
      old_commit: '0'.repeat(40),
      new_commit: 'a'.repeat(40),
      outcome: 'accepted' as const,
      reason: null,
      created_at: '2026-11-22T08:00:00Z',
    }
    const no = { ...push, outcome: 'refused' as const, reason: 'this branch was not made here' }
    const pushes = ['1', '2', '3'].map((id) => ({ ...no, id, ref: `refs/heads/no-${id}` }))
    const { user } = openConversation({ patch: () => new HttpResponse(''), pushes: [...pushes, push] })
    const list = await screen.findByRole('region', { name: 'Pushed to the git host' })
    expect(within(list).getByText('no-1')).toBeVisible()
    expect(within(list).getAllByText('this branch was not made here')).toHaveLength(3)
    expect(within(list).queryByText('mend')).not.toBeInTheDocument()
    await user.click(within(list).getByRole('button', { name: 'Show all 4' }))
    expect(within(list).getByText('mend')).toBeVisible()
    expect(within(list).getAllByText('aaaaaaa')).toHaveLength(4)
  })

  it('asks nothing of a sandbox that lies in an archive, or does from now on', async () => {
    const asked: string[] = []
    const note = (name: string) => () => {
      asked.push(name)
      return problem(409, { code: 'sandbox_not_running', detail: 'It sleeps.' })
    }
    const archived = fakeConversation({ id: ID, sandbox_id: ID, sandbox_status: 'ARCHIVED' })
    const { user, stream } = openConversation({
      conversation: archived,
      patch: note('patch'),
      browser: note('browser'),
      extra: [http.get('*/sandboxes/:id/ports', note('ports'))],
    })
    expect(await screen.findByText('The sandbox is not running')).toBeVisible()
    await user.click(screen.getByRole('tab', { name: 'Preview' }))
    stream.send({ type: 'conversation', conversation: { ...archived, title: 'Later' } })
    expect(await screen.findByText('Later')).toBeVisible()
    // The text appears twice: in the changes and in the preview.
    await waitFor(() => expect(screen.getAllByText('The next message wakes it.')).toHaveLength(2))
    expect(asked).toEqual([])
  })

  it('is at peace with a sandbox that sleeps', async () => {
    openConversation({
      patch: () => problem(409, { code: 'sandbox_not_running', detail: 'Send a message to wake it.' }),
    })
    expect(await screen.findByText('The sandbox is not running')).toBeVisible()
    expect(screen.getByText('Send a message to wake it.')).toBeVisible()
  })
})
