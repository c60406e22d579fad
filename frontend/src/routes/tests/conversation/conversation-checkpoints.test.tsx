import { screen, waitFor, within } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { describe, expect, it } from 'vitest'
import type { CheckpointDiff, CheckpointList } from '@/api/conversations/checkpoint-types'
import type { ConversationEvent } from '@/events/wire/types'
import { problem } from '@/test/handlers'
import { composer, openConversation, timeline } from '@/test/open-conversation'
import { agentMessage, statusChange, userMessage } from '@/test/sample-log'
import { server } from '@/test/server'

const PATCH = `diff --git a/a.txt b/a.txt
index 1..2 100644
--- a/a.txt
+++ b/a.txt
@@ -1 +1 @@
-one
+two
`
const LIST: CheckpointList = {
  checkpoints: [
    { id: 1, kind: 'turn', seq: 1, event_id: 'm1', created_at: '2026-01-02T03:04:05Z', skipped: [] },
    { id: 2, kind: 'end', seq: 2, event_id: null, created_at: '2026-01-02T03:05:05Z', skipped: [] },
    { id: 3, kind: 'turn', seq: 3, event_id: 'm3', created_at: '2026-01-02T03:06:05Z', skipped: ['big.iso'] },
  ],
  unavailable: null,
}
const DIFF: CheckpointDiff = {
  files: [{ status: 'UPDATED', path: 'a.txt' }],
  patch: PATCH,
  edited: [],
  blocked: [],
}

const after = (parent: string | null, event: ConversationEvent): ConversationEvent => ({
  ...event,
  parent_id: parent,
})
const EVENTS = [
  after(null, userMessage('m1', 'First?')),
  after('m1', agentMessage('m2', 'One.')),
  after('m2', userMessage('m3', 'Second?')),
  after('m3', agentMessage('m4', 'Two.')),
]
const update = (id: string, key: string, value: unknown) =>
  ({ ...statusChange(id, 'idle'), key, value }) as ConversationEvent
const proof = (id: string, status: 'verified' | 'unverified') =>
  update(id, 'agent_state', { proof: { status, changed: [], commands: [] } })
const GONE_BACK = { rewind: { checkpoint: 1, undo: 4, files: null, chat: true, kept: [] } }

function open(
  given: { diff?: Partial<CheckpointDiff>; list?: CheckpointList; events?: ConversationEvent[] } = {},
) {
  const rewinds: unknown[] = []
  const opened = openConversation({ events: given.events ?? EVENTS })
  server.use(
    http.get('*/checkpoints', () => HttpResponse.json(given.list ?? LIST)),
    http.get('*/checkpoints/:n/diff', () => HttpResponse.json({ ...DIFF, ...given.diff })),
    http.post('*/checkpoints/:n/rewind', async ({ request, params }) => {
      rewinds.push({ checkpoint: params.n, ...((await request.json()) as object) })
      return HttpResponse.json({ undo: 9, files: DIFF.files, kept: [] })
    }),
  )
  return { ...opened, rewinds }
}

async function askBeside(user: ReturnType<typeof open>['user'], position: number) {
  await within(await timeline()).findByText('Second?')
  const buttons = within(await timeline()).getAllByRole('button', { name: 'Restore to here' })
  await user.click(buttons[position]!)
  return screen.findByRole('dialog', { name: 'Restore to here' })
}

const confirm = () => screen.getByRole('button', { name: 'Restore' })

describe('going back from a message', () => {
  it('shows what it undoes, goes back, and returns the message to the composer', async () => {
    const { user, rewinds } = open()
    const dialog = within(await askBeside(user, 1))
    expect(await dialog.findByText('1 file has changed since. These changes will be undone:')).toBeVisible()
    expect(await dialog.findByText('a.txt')).toBeVisible()
    expect(dialog.getByText('big.iso')).toBeVisible()
    expect(
      dialog.getByText(
        'The chat goes back as well: later messages are removed from it. Your message returns to the input box. The current state is saved, so you can undo this.',
      ),
    ).toBeVisible()
    await user.click(confirm())
    await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull())
    expect(rewinds).toEqual([{ checkpoint: '3', files: true, chat: true, on_edits: 'refuse' }])
    expect(await composer()).toHaveValue('Second?')
  })

  it('goes back with files or chat alone', async () => {
    const { user, rewinds } = open()
    const dialog = within(await askBeside(user, 0))
    await user.click(await dialog.findByRole('radio', { name: 'Files' }))
    await user.click(confirm())
    await waitFor(() =>
      expect(rewinds).toEqual([{ checkpoint: '1', files: true, chat: false, on_edits: 'refuse' }]),
    )
    expect(await composer()).toHaveValue('')
  })

  it('does not drop edits: it goes on only if they are left alone', async () => {
    const { user, rewinds } = open({ diff: { edited: ['a.txt'] } })
    const dialog = within(await askBeside(user, 1))
    expect(await dialog.findByText('1 file was edited since, and not by this agent')).toBeVisible()
    expect(confirm()).toBeDisabled()
    await user.click(dialog.getByRole('checkbox'))
    await user.click(confirm())
    await waitFor(() => expect(rewinds).toMatchObject([{ on_edits: 'keep' }]))
  })

  it('says why there is no checkpoint, and what failed', async () => {
    const { user } = open({
      list: { checkpoints: [], unavailable: { code: 'git_failed', detail: 'git is missing.' } },
    })
    await askBeside(user, 1)
    expect(await screen.findByText('git is missing.')).toBeVisible()
    await user.keyboard('{Escape}')
    server.use(
      http.get('*/checkpoints', () => HttpResponse.json(LIST)),
      http.post('*/rewind', () =>
        problem(409, { code: 'already_running', detail: 'It is running already.' }),
      ),
    )
    const dialog = within(await askBeside(user, 1))
    await dialog.findByText('a.txt')
    await user.click(confirm())
    expect(await dialog.findByText('It is running already.')).toBeVisible()
  })
})

describe('a conversation that went back', () => {
  it('shows only what led there, and undoes it', async () => {
    const { user, rewinds } = open({
      events: [
        ...EVENTS.slice(0, 2),
        proof('p1', 'verified'),
        ...EVENTS.slice(2),
        proof('p2', 'unverified'),
        update('u1', 'leaf_event_id', 'm2'),
        update('u2', 'agent_state', {
          rewind: { checkpoint: 3, undo: 4, files: 2, chat: true, kept: ['b.txt'] },
        }),
      ],
      list: {
        ...LIST,
        checkpoints: [...LIST.checkpoints, { ...LIST.checkpoints[1]!, id: 4, kind: 'rewind' }],
      },
    })
    const log = within(await timeline())
    expect(await log.findByText('Went back: chat and 2 files')).toBeVisible()
    expect(log.getByText('b.txt')).toBeVisible()
    expect(log.getByText('One.')).toBeVisible()
    expect(log.queryByText('Two.')).toBeNull()
    expect(log.getByText('Verified')).toBeVisible()
    expect(log.queryByText('Unverified')).toBeNull()
    await user.click(log.getByRole('button', { name: 'Undo' }))
    await screen.findByText('a.txt')
    expect(screen.getByText(/the removed messages return/)).toBeVisible()
    expect(screen.queryByText(/Your message returns/)).toBeNull()
    await user.click(confirm())
    await waitFor(() => expect(rewinds).toMatchObject([{ checkpoint: '4' }]))
  })

  it('shows one line for several times of going back, and none of no files', async () => {
    const back = (id: string, undo: number) =>
      update(id, 'agent_state', { rewind: { checkpoint: 1, undo, files: 0, chat: true, kept: [] } })
    openConversation({ events: [...EVENTS, back('u1', 4), back('u2', 5), back('u3', 6)] })
    expect(await within(await timeline()).findByText('Went back: chat')).toBeVisible()
    expect(within(await timeline()).getAllByText(/Went back/)).toHaveLength(1)
  })

  it('shows no waiting message after everything was taken back', async () => {
    const request = { initial_message: { role: 'user', content: [{ type: 'text', text: 'First?' }] } }
    openConversation({
      task: { request: request as never },
      events: [...EVENTS, update('u1', 'leaf_event_id', null), update('u2', 'agent_state', GONE_BACK)],
    })
    expect(await within(await timeline()).findByText('Went back: chat')).toBeVisible()
    expect(within(await timeline()).queryByText('First?')).toBeNull()
  })

  it('lists all checkpoints, newest first, with what was said', async () => {
    const { user } = open()
    await within(await timeline()).findByText('Second?')
    await user.click(screen.getByRole('button', { name: 'Checkpoints' }))
    const dialog = await screen.findByRole('dialog', { name: 'Checkpoints' })
    const items = await within(dialog).findAllByRole('listitem')
    expect(items.map((item) => item.textContent)).toMatchObject([
      expect.stringContaining('Before the message “Second?”'),
      expect.stringContaining('After the turn'),
      expect.stringContaining('Before the message “First?”'),
    ])
    await user.click(within(items[2]!).getByRole('button', { name: 'Restore to here' }))
    expect(await screen.findByRole('dialog', { name: 'Restore to here' })).toBeVisible()
  })
})
