import { screen, waitFor, within } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { describe, expect, it, vi } from 'vitest'
import type { DirectoryEntry } from '@/api/conversations/directories'
import { problem } from '@/test/handlers'
import { openConversation, type OpenConversationOptions } from '@/test/open-conversation'
import { fileEdited } from '@/test/sample-log'

const entry = (name: string, more: Partial<DirectoryEntry> = {}): DirectoryEntry => ({
  name,
  kind: 'file',
  size: 12,
  modified_at: '2026-01-02T03:04:05Z',
  is_link: false,
  ...more,
})
const directory = (name: string) => entry(name, { kind: 'directory', size: null })

type Contents = Record<string, string | Uint8Array<ArrayBuffer> | DirectoryEntry[]>

/** Opens the panel of files. `contents` are the directories and files by path; `''` is the repository. */
async function openFiles(contents: Contents, more: OpenConversationOptions = {}) {
  const asked: string[] = []
  const app = openConversation({
    ...more,
    extra: [
      ...(more.extra ?? []),
      http.get('*/app-conversations/:id/directory', ({ request }) => {
        const query = new URL(request.url).searchParams
        const path = query.get('path') ?? ''
        asked.push(path)
        const all = contents[path]
        if (!Array.isArray(all))
          return problem(404, { code: 'not_found', detail: 'There is no such directory.' })
        const begin = Number(query.get('page_id') ?? 0)
        const next = begin + 500 < all.length ? String(begin + 500) : null
        return HttpResponse.json({ items: all.slice(begin, begin + 500), next_page_id: next })
      }),
      http.get('*/app-conversations/:id/file/download', ({ request }) => {
        const found = contents[new URL(request.url).searchParams.get('path') ?? '']
        if (found === undefined) return problem(404, { code: 'not_found', detail: 'There is no such file.' })
        return new HttpResponse(found as string)
      }),
    ],
  })
  await app.user.click(await screen.findByRole('tab', { name: 'Files' }))
  return { ...app, asked, panel: within(await screen.findByRole('tabpanel', { name: 'Files' })) }
}

describe('the files', () => {
  it('opens directories, shows a file with its lines, and comes back to where it was', async () => {
    const { user, panel, asked } = await openFiles({
      '': [directory('src'), entry('README.md')],
      src: [entry('calc.py', { size: 1_340 })],
      'src/calc.py': 'def divide(a, b):\n    return a / b\n',
    })
    const opened = await panel.findByRole('button', { name: 'src' })
    expect(asked).toEqual([''])
    await user.click(opened)
    const file = await panel.findByRole('button', { name: /calc\.py/ })
    expect(file).toHaveTextContent('1.3 kB')
    await user.click(file)

    const view = within(await panel.findByRole('region', { name: 'src/calc.py' }))
    expect(view.getByRole('heading', { name: 'src/calc.py' })).toHaveFocus()
    const text = await view.findByText((_, element) => element?.tagName === 'PRE')
    expect(text).toHaveTextContent('1 2def divide(a, b): return a / b')
    expect(within(text).getByText('return')).toHaveClass('hljs-keyword')
    expect(file).not.toBeVisible()

    await user.click(view.getByRole('button', { name: 'Back to the list of files' }))
    await waitFor(() => expect(file).toHaveFocus())
    expect(opened).toHaveAttribute('aria-expanded', 'true')
  })

  it('shows a picture, and says why it does not show other files', async () => {
    const { user, panel } = await openFiles({
      '': [
        entry('a.png'),
        entry('b.bin'),
        entry('c.log', { size: 1_000_001 }),
        entry('d.txt', { size: 0 }),
        entry('e.txt'),
      ],
      'a.png': new Uint8Array([137, 80, 78, 71]),
      'b.bin': new Uint8Array([65, 0, 65]),
      'd.txt': '',
    })
    const open = async (name: RegExp) => {
      const back = panel.queryByRole('button', { name: 'Back to the list of files' })
      if (back) await user.click(back)
      await user.click(await panel.findByRole('button', { name }))
    }
    await open(/a\.png/)
    expect(await panel.findByRole('img', { name: 'a.png' })).toHaveAttribute(
      'src',
      'data:image/png;base64,iVBORw==',
    )
    await open(/b\.bin/)
    expect(await panel.findByText(/This file is not text/)).toBeVisible()
    await open(/c\.log/)
    expect(await panel.findByText(/too large to show \(1 MB\)/)).toBeVisible()
    await open(/d\.txt/)
    expect(await panel.findByText('This file is empty.')).toBeVisible()
    await open(/e\.txt/)
    expect(await panel.findByText('This file no longer exists.')).toBeVisible()
  })

  it('saves a file on the computer', async () => {
    const saved: Blob[] = []
    URL.createObjectURL = (blob) => `blob:${saved.push(blob as Blob)}`
    URL.revokeObjectURL = () => {}
    const names: string[] = []
    vi.spyOn(HTMLAnchorElement.prototype, 'click').mockImplementation(function (this: HTMLAnchorElement) {
      names.push(this.download)
    })
    const { user, panel } = await openFiles({
      '': [directory('src')],
      src: [entry('large.bin', { size: 20_000_000 })],
      'src/large.bin': 'all of it',
    })
    await user.click(await panel.findByRole('button', { name: 'src' }))
    await user.click(await panel.findByRole('button', { name: /large\.bin/ }))
    await user.click(await panel.findByRole('button', { name: 'Download the file' }))
    await waitFor(() => expect(names).toEqual(['large.bin']))
    expect(saved[0]?.size).toBe('all of it'.length)
  })

  it('shows a long directory page by page, and what cannot be opened', async () => {
    const many = Array.from({ length: 501 }, (_, index) => entry(`file-${String(index).padStart(3, '0')}`))
    const { user, panel } = await openFiles({
      '': [entry('out', { kind: 'other', size: null, is_link: true }), ...many],
    })
    expect(await panel.findByText('cannot be opened')).toBeVisible()
    expect(panel.getByRole('img', { name: 'link' })).toBeVisible()
    expect(panel.queryByRole('button', { name: /file-500/ })).toBeNull()
    await user.click(panel.getByRole('button', { name: 'Show more' }))
    expect(await panel.findByRole('button', { name: /file-500/ })).toBeVisible()
    expect(panel.queryByRole('button', { name: 'Show more' })).toBeNull()
  })

  it('shows each repository, and follows the changes of the agent', async () => {
    const contents: Contents = { '': [entry('ours')], '../lamp': [] }
    const lamp = {
      branch: null,
      git_provider: null,
      base_commit: null,
      repository: 'https://lab.example/crew/lamp.git',
      directory: 'lamp',
    }
    const { panel, stream } = await openFiles(contents, {
      conversation: {
        selected_repository: 'https://github.com/team/harbour.git',
        more_repositories: [lamp],
      },
    })
    const first = await panel.findByRole('list', { name: 'Files of team/harbour' })
    expect(within(first).getByRole('button', { name: /ours/ })).toBeVisible()
    expect(panel.getByRole('heading', { name: 'crew/lamp' })).toBeVisible()
    expect(await panel.findByText('Empty')).toBeVisible()
    contents['../lamp'] = [entry('light')]
    stream.append(fileEdited('o', 'str_replace'))
    expect(await panel.findByRole('button', { name: /light/ })).toBeVisible()
  })

  it('says why there are no files', async () => {
    const { panel } = await openFiles({}, { conversation: { sandbox_status: 'PAUSED' } })
    expect(await panel.findByText('The sandbox is not running')).toBeVisible()
  })

  it('names a failure, and tries again', async () => {
    const contents: Contents = {}
    const { user, panel } = await openFiles(contents)
    expect(await panel.findByText('The files could not be loaded.')).toBeVisible()
    contents[''] = [entry('README.md')]
    await user.click(panel.getByRole('button', { name: 'Try again' }))
    expect(await panel.findByRole('button', { name: /README/ })).toBeVisible()
  })
})
