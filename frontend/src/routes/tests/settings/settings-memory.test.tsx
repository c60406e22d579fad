import { screen, waitFor, within } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { expect, test } from 'vitest'
import type { MemoryNote } from '@/api/agents/memory-types'
import { fakeNote, fakeProposal } from '@/test/agent-factories'
import { problem } from '@/test/handlers'
import { renderApp } from '@/test/render-app'

/** Serves notes as a server stores them. `sent` collects the changes. */
function openMemory(notes: MemoryNote[], change?: () => Response) {
  const stored = [...notes]
  const sent: unknown[] = []
  const app = renderApp({
    url: '/settings/memory',
    extra: [
      http.get('*/api/v1/memory', () => HttpResponse.json(stored)),
      http.get('*/api/v1/memory/:id', ({ params }) =>
        HttpResponse.json(stored.find((note) => note.id === params.id)),
      ),
      http.patch('*/api/v1/memory/:id', async ({ request }) => {
        sent.push(await request.json())
        return change?.() ?? HttpResponse.json(stored[0])
      }),
      http.delete('*/api/v1/memory/:id', ({ params }) => {
        stored.splice(
          stored.findIndex((note) => note.id === params.id),
          1,
        )
        return new HttpResponse(null, { status: 204 })
      }),
    ],
  })
  return { ...app, sent }
}

test('notes are listed by repository', async () => {
  openMemory([fakeNote(), fakeNote({ repository: '/srv/app', title: 'Where things are' })])
  const engine = await screen.findByRole('region', { name: 'github.com/ada/engine' })
  expect(within(engine).getByText('Running the tests')).toBeVisible()
  expect(within(engine).getByText('1 note')).toBeVisible()
  expect(within(screen.getByRole('region', { name: '/srv/app' })).getByText('Where things are')).toBeVisible()
})

test('a note can be read and mended', async () => {
  const { user, sent } = openMemory([fakeNote()])
  await user.click(await screen.findByRole('button', { name: 'Open the note Running the tests' }))
  const text = await screen.findByRole('textbox', { name: 'Text' })
  expect(text).toHaveValue('Use make check.')
  await user.clear(text)
  await user.click(screen.getByRole('button', { name: 'Save' }))
  expect(await screen.findByText('Write something, up to 8 KiB.')).toBeVisible()
  await user.type(text, 'Use make test.')
  await user.click(screen.getByRole('button', { name: 'Save' }))
  await waitFor(() => expect(screen.queryByRole('dialog')).not.toBeInTheDocument())
  expect(sent).toEqual([{ title: 'Running the tests', text: 'Use make test.' }])
})

test('a change that is refused keeps what was written', async () => {
  const refuse = () => problem(404, { code: 'not_found', detail: 'No such note.' })
  const { user } = openMemory([fakeNote()], refuse)
  await user.click(await screen.findByRole('button', { name: 'Open the note Running the tests' }))
  await user.type(await screen.findByRole('textbox', { name: 'Text' }), ' Always.')
  await user.click(screen.getByRole('button', { name: 'Save' }))
  expect(await screen.findByRole('alert')).toHaveTextContent('No such note.')
  expect(screen.getByRole('textbox', { name: 'Text' })).toHaveValue('Use make check. Always.')
})

test('a note is deleted after a question', async () => {
  const { user } = openMemory([fakeNote()])
  await user.click(await screen.findByRole('button', { name: 'Delete the note Running the tests' }))
  await user.click(await screen.findByRole('button', { name: 'Delete note' }))
  expect(await screen.findByText('No notes yet')).toBeVisible()
})

test('a proposed note is read, then accepted or rejected', async () => {
  let waiting = [
    fakeProposal({ id: 'p1', kind: 'change', text: 'Use make test.' }),
    fakeProposal({ id: 'p2', kind: 'deletion', title: 'Where things are', text: null }),
  ]
  const answers: unknown[] = []
  const { user } = renderApp({
    url: '/settings/memory',
    extra: [
      http.get('*/api/v1/memory', () => HttpResponse.json([])),
      http.get('*/api/v1/memory-proposals', () => HttpResponse.json(waiting)),
      http.post('*/api/v1/memory-proposals/:id/:answer', ({ params }) => {
        answers.push([params.id, params.answer])
        waiting = waiting.filter(({ id }) => id !== params.id)
        return new HttpResponse(null, { status: 204 })
      }),
    ],
  })
  const proposed = await screen.findByRole('region', { name: 'Proposed by agents' })
  expect(within(proposed).getByText('Use make test.')).toBeVisible()
  expect(within(proposed).getByText('Replaces a note')).toBeVisible()
  await user.click(within(proposed).getByRole('button', { name: 'Accept the note Running the tests' }))
  await waitFor(() => expect(within(proposed).queryByText('Use make test.')).not.toBeInTheDocument())
  await user.click(within(proposed).getByRole('button', { name: 'Reject the note Where things are' }))
  await waitFor(() => expect(proposed).not.toBeInTheDocument())
  expect(answers).toEqual([
    ['p1', 'accept'],
    ['p2', 'reject'],
  ])
})
