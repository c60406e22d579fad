import { screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { http, HttpResponse } from 'msw'
import { describe, expect, it } from 'vitest'
import { ID, openConversation } from '@/test/open-conversation'
import { fakeConfig, fakeConversation, fakeRuntimePlugin } from '@/test/factories'
import { problem } from '@/test/handlers'

const URL_OF_IT = 'http://p8001-x.localhost:3000/?folder=%2Fworkspace'
const start = (answer: () => Response) => http.post('*/runtime-plugins/:name/start', answer)
const running = start(() => HttpResponse.json({ name: 'vscode', port: 8001, path: '/?folder=%2Fworkspace' }))
const link = (asked: unknown[]) =>
  http.post('*/sandboxes/:id/links', async ({ request }) => {
    asked.push(await request.json())
    return HttpResponse.json({ url: URL_OF_IT, expires_at: '2026-11-22T12:00:00Z' }, { status: 201 })
  })
const open = async (name: string) =>
  userEvent.click(await screen.findByRole('tab', { name }, { timeout: 10_000 }))

describe('VS Code and the desktop', () => {
  it('have no place before there is a sandbox', async () => {
    openConversation()
    expect(await screen.findByText('No changes', {}, { timeout: 10_000 })).toBeVisible()
    expect(screen.queryByRole('tab', { name: 'VS Code' })).toBeNull()
  })

  it('have a place where the image has them', async () => {
    const desktop = fakeRuntimePlugin({
      name: 'desktop',
      title: 'Desktop',
      status: 'unavailable',
      port: 8002,
    })
    let asked = 0
    const plugins = http.get('*/sandboxes/:id/runtime-plugins', () => {
      asked += 1
      return HttpResponse.json({ items: [fakeRuntimePlugin(), desktop] })
    })
    openConversation({ conversation: { sandbox_id: ID }, extra: [plugins] })
    expect(await screen.findByRole('tab', { name: 'VS Code' }, { timeout: 10_000 })).toBeVisible()
    expect(screen.queryByRole('tab', { name: 'Desktop' })).toBeNull()
    expect(asked).toBe(1)
  })

  it.each([
    ['sleeps', { sandbox_status: 'PAUSED' }],
    ['starts', { sandbox_status: 'STARTING', start_status: 'WAITING_FOR_SANDBOX' }],
    ['starts again', { sandbox_status: 'STARTING' }],
    ['is archived', { sandbox_status: 'ARCHIVED' }],
  ] as const)('follow the image of a sandbox that %s', async (_, standing) => {
    const plugins = http.get('*/sandboxes/:id/runtime-plugins', () =>
      HttpResponse.json({
        items: [fakeRuntimePlugin(), fakeRuntimePlugin({ name: 'desktop', status: 'unavailable' })],
      }),
    )
    openConversation({ conversation: { sandbox_id: ID, ...standing }, extra: [plugins] })
    expect(await screen.findByRole('tab', { name: 'VS Code' }, { timeout: 10_000 })).toBeVisible()
    expect(screen.queryByRole('tab', { name: 'Desktop' })).toBeNull()
  })

  it.each([
    ['while the task waits in line', { sandbox_status: 'STARTING', start_status: 'WORKING' }],
    ['after a start that failed early', { sandbox_status: 'MISSING', start_status: 'ERROR' }],
  ] as const)('are not asked for %s', async (_, standing) => {
    let isAsked = false
    const plugins = http.get('*/sandboxes/:id/runtime-plugins', () => {
      isAsked = true
      return problem(404, { code: 'not_found', detail: 'There is no such sandbox.' })
    })
    openConversation({ conversation: { sandbox_id: ID, ...standing }, extra: [plugins] })
    expect(await screen.findByRole('tab', { name: 'Preview' }, { timeout: 10_000 })).toBeVisible()
    expect(isAsked).toBe(false)
  })

  it('have no place while the sandbox sleeps and nothing is known of its image', async () => {
    let isAsked = false
    const plugins = http.get('*/sandboxes/:id/runtime-plugins', () => {
      isAsked = true
      return HttpResponse.json({ items: [] })
    })
    openConversation({ conversation: { sandbox_id: ID, sandbox_status: 'PAUSED' }, extra: [plugins] })
    expect(await screen.findByRole('tab', { name: 'Preview' }, { timeout: 10_000 })).toBeVisible()
    await waitFor(() => expect(isAsked).toBe(true))
    expect(screen.queryByRole('tab', { name: 'VS Code' })).toBeNull()
  })

  it('say why they cannot be opened now, and open when they can', async () => {
    const asked: unknown[] = []
    const { stream } = openConversation({
      conversation: { sandbox_id: ID, sandbox_status: 'ARCHIVED' },
      extra: [running, link(asked)],
    })
    await open('VS Code')
    expect(await screen.findByText(/next message brings its files back/)).toBeVisible()
    const conversation = (sandbox_status: 'STARTING' | 'RUNNING', updated_at: string) =>
      stream.send({
        type: 'conversation',
        conversation: fakeConversation({ id: ID, sandbox_id: ID, sandbox_status, updated_at }),
      })
    conversation('STARTING', '2026-11-22T12:00:01Z')
    expect(await screen.findByText('The sandbox is starting')).toBeVisible()
    expect(asked).toEqual([])
    conversation('RUNNING', '2026-11-22T12:00:02Z')
    expect(await screen.findByTitle('VS Code')).toBeVisible()
    expect(asked).toHaveLength(1)
  })

  it('wake a sandbox that sleeps only when they are told to', async () => {
    const asked: unknown[] = []
    openConversation({
      conversation: { sandbox_id: ID, sandbox_status: 'PAUSED' },
      extra: [running, link(asked)],
    })
    await open('VS Code')
    expect(
      await screen.findByText('VS Code runs in the sandbox. Opening it wakes the sandbox.'),
    ).toBeVisible()
    expect(asked).toEqual([])
    await userEvent.click(screen.getByRole('button', { name: 'Wake the sandbox and open VS Code' }))
    expect(await screen.findByTitle('VS Code')).toBeVisible()
    expect(asked).toHaveLength(1)
  })

  it('have no place where the image has neither', async () => {
    let isAsked = false
    const none = ['vscode', 'desktop'] as const
    const plugins = http.get('*/sandboxes/:id/runtime-plugins', () => {
      isAsked = true
      return HttpResponse.json({
        items: none.map((name) => fakeRuntimePlugin({ name, status: 'unavailable' })),
      })
    })
    openConversation({ conversation: { sandbox_id: ID }, extra: [plugins] })
    expect(await screen.findByRole('tab', { name: 'Preview' }, { timeout: 10_000 })).toBeVisible()
    await waitFor(() => expect(isAsked).toBe(true))
    expect(screen.queryByRole('tab', { name: 'VS Code' })).toBeNull()
    expect(screen.queryByRole('tab', { name: 'Desktop' })).toBeNull()
  })

  it('say what VS Code needs where it cannot work, before anything is started', async () => {
    const asked: string[] = []
    const started = http.post('*/runtime-plugins/:name/start', ({ params }) => {
      asked.push(String(params.name))
      return HttpResponse.json({ name: params.name, port: 8002, path: '/' })
    })
    const config = http.get('*/web-client/config', () =>
      HttpResponse.json(fakeConfig({ ports_have_names: false })),
    )
    openConversation({ conversation: { sandbox_id: ID }, extra: [started, link([]), config] })
    await open('VS Code')
    expect(await screen.findByText(/set SLIPWAY_PREVIEW_DOMAIN/)).toBeVisible()
    expect(screen.queryByTitle('VS Code')).toBeNull()
    expect(asked).toEqual([])
    await open('Desktop')
    expect(await screen.findByTitle('Desktop')).toBeVisible()
    expect(asked).toEqual(['desktop'])
  })

  it('start when they are opened, and show in a frame that cannot lead the page away', async () => {
    const asked: unknown[] = []
    openConversation({ conversation: { sandbox_id: ID }, extra: [running, link(asked)] })
    expect(asked).toEqual([])
    await open('VS Code')

    const frame = await screen.findByTitle('VS Code')
    expect(frame).toHaveAttribute('src', URL_OF_IT)
    expect(frame.getAttribute('sandbox')).not.toContain('top-navigation')
    expect(asked).toEqual([{ port: 8001, path: '/?folder=%2Fworkspace' }])
    const outside = screen.getByRole('link', { name: 'Open in a new tab' })
    expect(outside).toHaveAttribute('href', URL_OF_IT)
    expect(screen.getByText('It runs in the sandbox.')).toBeVisible()

    await userEvent.click(screen.getByRole('button', { name: /^Load again/ }))
    expect(await screen.findByTitle('VS Code')).toBeVisible()
    expect(asked).toHaveLength(2)
  })

  it('says that the desktop is the one of all conversations in the sandbox', async () => {
    const desktop = start(() => HttpResponse.json({ name: 'desktop', port: 8002, path: '/' }))
    openConversation({
      conversation: { sandbox_id: ID },
      others: [fakeConversation({ id: 'other', sandbox_id: ID })],
      extra: [desktop, link([])],
    })
    await open('Desktop')
    expect(await screen.findByText('One desktop for all conversations here.')).toBeVisible()
  })

  it('say what is missing, how to get it, and what was written last', async () => {
    let answer = problem(503, {
      code: 'desktop_unavailable',
      detail: 'There is no desktop here.',
      fix: 'Restart Slipway with SLIPWAY_SANDBOX_FLAVOUR=full.',
    })
    openConversation({ conversation: { sandbox_id: ID }, extra: [start(() => answer), link([])] })
    await open('Desktop')
    expect(await screen.findByText('There is no desktop here.')).toBeVisible()
    expect(screen.getByText(/SLIPWAY_SANDBOX_FLAVOUR=full/)).toBeVisible()

    answer = problem(503, { code: 'runtime_plugin_failed', detail: 'It ended.', output: 'no screens found' })
    await userEvent.click(screen.getByRole('button', { name: 'Try again' }))
    expect(await screen.findByText('no screens found')).toBeVisible()
  })
})
