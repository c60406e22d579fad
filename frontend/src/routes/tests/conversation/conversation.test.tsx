import { act, screen, waitFor, within } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { fakeConversation } from '@/test/factories'
import { fakeProfile } from '@/test/model-factories'
import { ID, openConversation, timeline } from '@/test/open-conversation'
import { action, observation, statusChange, userMessage } from '@/test/sample-log'
import { server } from '@/test/server'

/**
 * Delays automatic reconnects, so that only the button connects again. On a busy machine, the page would
 * reconnect before the test checks it.
 */
function keepFromTryingAgain() {
  const { setTimeout } = window
  const later = (callback: () => void, milliseconds?: number) =>
    setTimeout(callback, callback.name === 'connect' ? 3_600_000 : milliseconds)
  vi.spyOn(window, 'setTimeout').mockImplementation(later as typeof setTimeout)
}

describe('the status', () => {
  it.each([
    [{ sandbox_status: 'PAUSED' as const, execution_status: 'running' as const }, 'Asleep'],
    [{ sandbox_status: 'MISSING' as const, execution_status: null }, 'Sandbox gone'],
    [{ execution_status: 'finished' as const }, 'Finished'],
  ])('says what it knows of the agent: %j', async (conversation, text) => {
    openConversation({
      conversation: { last_seq: 9, ...conversation },
      events: [statusChange('s', 'running')],
    })
    expect(await screen.findByText(text, { selector: '[aria-live]' })).toBeVisible()
    expect(screen.queryByText('Working')).not.toBeInTheDocument()
  })

  it('says that the sandbox was deleted, and takes no message', async () => {
    openConversation({
      conversation: { last_seq: 9, sandbox_status: 'MISSING', execution_status: null },
      events: [userMessage('m', 'hi')],
    })
    expect(await screen.findByText(/^The sandbox of this conversation was deleted/)).toBeVisible()
    expect(screen.queryByRole('textbox', { name: 'Message to the agent' })).not.toBeInTheDocument()
    expect(screen.queryByRole('button', { name: 'Checkpoints' })).not.toBeInTheDocument()
  })

  it('says that it is cut off instead of claiming that the agent works, and resumes where it was', async () => {
    const { user, stream } = openConversation({
      conversation: { execution_status: 'running' },
      events: [userMessage('m', 'hi'), statusChange('s', 'running')],
    })
    await screen.findByText('Working')
    stream.append(action('a', 'sleep 60'))
    expect(await screen.findByText('Running', { selector: '.sr-only' })).toBeInTheDocument()
    keepFromTryingAgain()
    stream.drop(1012)
    expect(await screen.findByText(/connection was lost/)).toBeVisible()
    expect(screen.getByText('Not connected. Last known: Working')).toBeVisible()
    expect(screen.getByText('Was running')).toBeVisible()
    await user.click(screen.getByRole('button', { name: 'Try now' }))
    expect(await screen.findByText('Working')).toBeVisible()
    expect(stream.positions.at(-1)).toBe(3)
  })

  it('tells when there is no such conversation', async () => {
    const { stream } = openConversation()
    await timeline()
    stream.drop(4004)
    expect(await screen.findByText('There is no such conversation')).toBeVisible()
  })
})

describe('the sidebar', () => {
  it('follows the stream', async () => {
    const { stream } = openConversation()
    const list = await screen.findByRole('navigation', { name: 'Main' })
    expect(await within(list).findByText('Fix the failing test')).toBeVisible()
    stream.send({
      type: 'conversation',
      conversation: fakeConversation({ id: ID, title: 'Named by the agent' }),
    })
    expect(await within(list).findByText('Named by the agent')).toBeVisible()
  })
})

describe('the header', () => {
  it('lets another model take over, and shows it once it has', async () => {
    const { user, sent, stream } = openConversation({
      conversation: { llm_profile: 'sonnet', sandbox_status: 'RUNNING' },
      profiles: [fakeProfile({ name: 'sonnet' }), fakeProfile({ name: 'opus' })],
    })
    await user.click(await screen.findByRole('button', { name: /^Model: sonnet/ }))
    await user.click(await screen.findByRole('menuitemradio', { name: 'opus' }))
    await waitFor(() => expect(sent.switch_profile).toEqual([{ profile_name: 'opus' }]))
    stream.send({
      type: 'conversation',
      conversation: fakeConversation({ id: ID, llm_profile: 'opus', sandbox_status: 'RUNNING' }),
    })
    expect(await screen.findByRole('button', { name: /^Model: opus/ })).toBeVisible()
  })

  it('offers no other model while the sandbox sleeps', async () => {
    openConversation({
      conversation: { llm_profile: 'sonnet', sandbox_status: 'PAUSED' },
      profiles: [fakeProfile({ name: 'sonnet' }), fakeProfile({ name: 'opus' })],
    })
    expect(await screen.findByText('sonnet', { selector: 'header *' })).toBeVisible()
    expect(screen.queryByRole('button', { name: /^Model:/ })).not.toBeInTheDocument()
  })

  it('names repository and model, marks a recording, and renames', async () => {
    const { user } = openConversation({
      conversation: { llm_profile: 'demo', selected_repository: 'octo/app', selected_branch: 'main' },
    })
    expect(await screen.findByText('octo/app', { selector: 'header *' })).toBeVisible()
    expect(await screen.findByText('Recording')).toBeVisible()
    server.use(
      http.patch('*/app-conversations/:id', async ({ request }) =>
        HttpResponse.json(fakeConversation({ id: ID, ...((await request.json()) as { title: string }) })),
      ),
    )
    await user.click(screen.getByRole('button', { name: 'Fix the failing test' }))
    const field = screen.getByRole('textbox', { name: 'Title' })
    await user.clear(field)
    await user.type(field, 'Mend division{Enter}')
    expect(await screen.findByRole('heading', { name: 'Mend division' })).toBeVisible()
  })
})

describe('a narrow window', () => {
  beforeEach(() => {
    const before = window.matchMedia
    window.matchMedia = (media) => ({ ...before(media), media, matches: false })
    return () => {
      window.matchMedia = before
    }
  })

  it('shows one panel at a time and keeps what was opened in the other', async () => {
    const output = Array.from({ length: 40 }, (_, line) => `line ${line}`).join('\n')
    const { user } = openConversation({ events: [action('a', 'seq 40'), observation('o', 'a', output)] })
    await user.click(await screen.findByRole('button', { name: 'Show all (40 lines)' }))
    await user.click(screen.getByRole('tab', { name: 'Changes' }))
    expect(await screen.findByText('No changes')).toBeVisible()
    expect(screen.queryByRole('button', { name: 'Show less' })).not.toBeInTheDocument()
    await user.click(screen.getByRole('tab', { name: 'Chat' }))
    expect(screen.getByRole('button', { name: 'Show less' })).toBeVisible()
    expect(screen.queryByRole('tabpanel', { name: 'Changes' })).not.toBeInTheDocument()
  })
})

it('shows a title that is thought of while the page is open, everywhere', async () => {
  const { stream } = openConversation({ conversation: { title: null } })
  expect(await screen.findByRole('heading', { name: 'Untitled conversation' })).toBeVisible()

  const title = 'Repair the harbour gate'
  stream.send({ type: 'conversation', conversation: fakeConversation({ id: ID, title }) })

  expect(await screen.findByRole('heading', { name: title })).toBeVisible()
  expect(document.title).toBe(`${title} · Slipway`)
  const sidebar = within(screen.getByRole('navigation', { name: 'Main' }))
  expect(await sidebar.findByText(title)).toBeVisible()
})

it('without a title has one name in the header, the tab, the list and every dialog', async () => {
  const { user, router } = openConversation({ conversation: { title: null } })
  const name = 'Untitled conversation'
  expect(await screen.findByRole('heading', { name })).toBeVisible()
  expect(document.title).toBe(`${name} · Slipway`)
  const sidebar = within(screen.getByRole('navigation', { name: 'Main' }))
  expect(await sidebar.findByText(name)).toBeVisible()

  await act(() => router.navigate('/conversations'))
  await user.click(await screen.findByRole('button', { name: `More actions: ${name}` }))
  await user.click(await screen.findByRole('menuitem', { name: 'Delete' }))
  expect(await screen.findByRole('dialog')).toHaveTextContent(name)
})
