import { screen, waitFor, within } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { describe, expect, it } from 'vitest'
import type { ConversationNetwork, RefusedHost } from '@/api/sandboxes/network'
import { problem } from '@/test/handlers'
import { openConversation } from '@/test/open-conversation'

const refused: RefusedHost = {
  host: 'example.org',
  port: 443,
  reason: 'not_allowed',
  client: 'curl',
  count: 1,
  last_at: '2026-01-02T03:04:05Z',
  is_allowable: true,
}
const other: RefusedHost = {
  ...refused,
  host: 'other.test',
  client: '',
  is_allowable: false,
  reason: 'network_off',
}

function open(waiting: RefusedHost[], repository: string | null = 'github.com/ada/engine') {
  const answers: unknown[] = []
  const told = (list: RefusedHost[]): ConversationNetwork => ({
    mode: 'allowlist',
    repository,
    allowed: [],
    refused: list,
  })
  const opened = openConversation({
    extra: [
      http.get('*/app-conversations/:id/network', () => HttpResponse.json(told(waiting))),
      http.post('*/app-conversations/:id/network/answer', async ({ request }) => {
        answers.push(await request.json())
        return HttpResponse.json(told(waiting.slice(1)))
      }),
    ],
  })
  return { ...opened, answers, waiting }
}

const card = () => screen.findByRole('region', { name: 'curl tried to reach example.org:443' })

describe('a host that was refused', () => {
  it.each([
    ['Allow for this conversation', 'conversation'],
    ['Allow for this repository', 'repository'],
    ['Keep refusing', 'ignore'],
  ])('is answered with one click: %s', async (name, answer) => {
    const { user, answers } = open([refused, other])
    const shown = within(await card())
    expect(shown.getByText('1 more host waits for you.')).toBeVisible()
    await user.click(shown.getByRole('button', { name }))
    await waitFor(() => expect(answers).toEqual([{ host: 'example.org', port: 443, answer }]))
    const next = await screen.findByRole('region', { name: 'The agent tried to reach other.test:443' })
    expect(within(next).queryByRole('button', { name: /Allow/ })).toBeNull()
    expect(within(next).getByRole('link', { name: 'Network settings' })).toBeVisible()
  })

  it('is shown as soon as the stream tells of it', async () => {
    const { stream, waiting } = open([])
    await screen.findByRole('log', { name: 'Conversation' })
    waiting.push(refused)
    stream.send({ type: 'network' })
    expect(await card()).toBeVisible()
  })

  it('can be allowed for a repository only where there is one', async () => {
    open([refused], null)
    expect(within(await card()).queryByRole('button', { name: 'Allow for this repository' })).toBeNull()
  })

  it('says why it could not be allowed', async () => {
    const { user } = openConversation({
      extra: [
        http.get('*/app-conversations/:id/network', () =>
          HttpResponse.json({ mode: 'allowlist', repository: null, allowed: [], refused: [refused] }),
        ),
        http.post('*/network/answer', () =>
          problem(409, {
            code: 'too_many_hosts',
            detail: '500 hosts are listed already, which is the limit.',
          }),
        ),
      ],
    })
    await user.click(within(await card()).getByRole('button', { name: 'Allow for this conversation' }))
    expect(await screen.findByText('500 hosts are listed already, which is the limit.')).toBeVisible()
  })

  it('knows a browser, which calls itself by a name that says nothing', async () => {
    open([{ ...refused, client: 'Mozilla' }])
    expect(
      await screen.findByRole('region', { name: 'A browser tried to reach example.org:443' }),
    ).toBeVisible()
  })
})
