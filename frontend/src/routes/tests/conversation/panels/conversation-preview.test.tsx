import { screen, within } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { describe, expect, it } from 'vitest'
import type { ListeningPort } from '@/api/sandboxes/ports'
import type { AppConversation } from '@/api/types'
import { fakeConversation } from '@/test/factories'
import { problem } from '@/test/handlers'
import { openConversation } from '@/test/open-conversation'

const SANDBOX = 's'.repeat(32)
const VITE: ListeningPort = { port: 5173, process_name: 'node vite', pid: 12, conversation_id: null }

function open(
  ports: () => Response,
  linkUrl: string | null = null,
  others: AppConversation[] = [],
  keepsPrefix = false,
) {
  const asked: unknown[] = []
  const opened = openConversation({
    conversation: { sandbox_id: SANDBOX },
    others,
    extra: [
      http.get(`*/sandboxes/${SANDBOX}/ports`, ports),
      http.post(`*/sandboxes/${SANDBOX}/links`, async ({ request }) => {
        asked.push(await request.json())
        return linkUrl === null
          ? problem(409, { code: 'conflict', detail: 'No link today.' })
          : HttpResponse.json(
              { url: linkUrl, expires_at: '2026-01-02T15:04:05Z', keeps_prefix: keepsPrefix },
              { status: 201 },
            )
      }),
    ],
  })
  return { ...opened, asked }
}

const listed = (...ports: ListeningPort[]) => HttpResponse.json({ ports })
const openTab = async (user: ReturnType<typeof open>['user']) =>
  user.click(await screen.findByRole('tab', { name: 'Preview' }))
const choose = async (user: ReturnType<typeof open>['user']) =>
  user.click(await screen.findByRole('button', { name: '5173 node vite' }))

describe('the preview', () => {
  it('says how a page gets there', async () => {
    const { user } = open(() => listed())
    await openTab(user)
    expect(await screen.findByText('No server is running')).toBeVisible()
  })

  it('shows the page of a port in a frame that may keep what is its own', async () => {
    const url = `http://p5173-${SANDBOX}.localhost:3000/open?token=t`
    const { user, asked } = open(() => listed(VITE), url)
    await openTab(user)
    const ports = await screen.findByRole('list', { name: 'Ports of the sandbox' })
    expect(within(ports).getByRole('button', { name: '5173 node vite' })).toBeVisible()
    await choose(user)
    const frame = await screen.findByTitle('Page of port 5173')
    expect(frame).toHaveAttribute('src', url)
    expect(frame.getAttribute('sandbox')).toContain('allow-same-origin')
    expect(screen.getByRole('link', { name: 'Open in a new tab' })).toHaveAttribute('href', url)
    await user.click(screen.getByRole('button', { name: 'Copy a link to share' }))
    expect(await screen.findByText(/^Link copied/)).toBeVisible()
    await user.click(screen.getByRole('button', { name: 'Load the page again' }))
    expect(await screen.findByTitle('Page of port 5173')).toBeVisible()
    // Three requests: the page opens the only port itself, the user chooses the port, and the user loads it
    // again.
    expect(asked).toEqual([{ port: 5173 }, { port: 5173 }, { port: 5173 }])
  })

  it('opens the only port without asking', async () => {
    const { user, asked } = open(() => listed(VITE), 'http://p5173.localhost:3000/')
    await openTab(user)
    expect(await screen.findByTitle('Page of port 5173')).toBeVisible()
    expect(asked).toEqual([{ port: 5173 }])
  })

  it('names the conversation whose server it is, if it is another one, after its own', async () => {
    const foreign = { ...VITE, port: 3000, conversation_id: 'other' }
    const other = fakeConversation({ id: 'other', sandbox_id: SANDBOX, title: 'Paint the crane' })
    const { user } = open(() => listed(foreign, VITE), null, [other])
    await openTab(user)
    expect(await screen.findByRole('button', { name: '3000 node vite of “Paint the crane”' })).toBeVisible()
    const ports = within(screen.getByRole('list', { name: 'Ports of the sandbox' })).getAllByRole('button')
    expect(ports.map((button) => button.textContent)).toEqual([
      '5173 node vite',
      '3000 node vite of “Paint the crane”',
    ])
  })

  it('keeps a page on our own name out of our origin', async () => {
    const { user } = open(() => listed(VITE), `${window.location.origin}/preview/t/`)
    await openTab(user)
    await choose(user)
    const frame = await screen.findByTitle('Page of port 5173')
    expect(frame.getAttribute('sandbox')).not.toContain('allow-same-origin')
  })

  it('gives a server that has to know its path one to start with', async () => {
    const origin = window.location.origin
    const { user, asked } = open(() => listed(VITE), `${origin}/preview/t/`)
    await openTab(user)
    await user.click(await screen.findByRole('button', { name: 'Base path' }))
    expect(await screen.findByText(/^Most servers work as they are/)).toBeVisible()
    await user.click(screen.getByRole('button', { name: 'Get a base path' }))
    expect(await screen.findByText('/preview/t/')).toBeVisible()
    expect(screen.getByText(/^Valid until/)).toBeVisible()
    expect(asked.at(-1)).toEqual({ port: 5173, keeps_prefix: true, lifetime_seconds: 604_800 })
    await user.click(screen.getByRole('button', { name: 'Copy the base path' }))
    expect(await screen.findByRole('button', { name: 'Copied' })).toBeVisible()
  })

  it('shows the base path that a server has already', async () => {
    const { user } = open(() => listed(VITE), `${window.location.origin}/preview/told/`, [], true)
    await openTab(user)
    await user.click(await screen.findByRole('button', { name: 'Base path' }))
    expect(await screen.findByText('/preview/told/')).toBeVisible()
    expect(screen.getByText('The server of this page was started with this base path.')).toBeVisible()
    expect(screen.queryByRole('button', { name: 'Get a base path' })).toBeNull()
  })

  it('has no base path where the port has a host name', async () => {
    const { user } = open(() => listed(VITE), 'http://p5173.localhost:3000/')
    await openTab(user)
    expect(await screen.findByTitle('Page of port 5173')).toBeVisible()
    expect(screen.queryByRole('button', { name: 'Base path' })).toBeNull()
  })

  it('says why a page cannot be opened', async () => {
    const { user } = open(() => listed(VITE))
    await openTab(user)
    await choose(user)
    expect(await screen.findByText('No link today.')).toBeVisible()
  })

  it('is at peace with a sandbox that sleeps', async () => {
    const asleep = { code: 'sandbox_not_running', detail: 'It sleeps.', fix: 'Send a message to wake it.' }
    const { user } = open(() => problem(409, asleep))
    await openTab(user)
    expect(await screen.findByText('Send a message to wake it.')).toBeVisible()
  })
})
