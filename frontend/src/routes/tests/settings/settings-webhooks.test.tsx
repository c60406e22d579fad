import { screen, waitFor, within } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { expect, test } from 'vitest'
import type { Callback, Delivery } from '@/api/automation/callbacks'
import type { Job } from '@/api/automation/jobs'
import { renderApp } from '@/test/render-app'

const CALLBACK: Callback = {
  id: 'c1',
  name: 'Build board',
  processor: 'webhook',
  host: 'example.com',
  email: null,
  instructions: null,
  kinds: [],
  sources: [],
  tools: [],
  statuses: ['finished'],
  conversation_id: null,
  is_for_everyone: false,
  is_enabled: true,
  disabled_reason: null,
  previous_secret_until: null,
  created_at: '2026-11-26T12:00:00Z',
}
const DELIVERY: Delivery = {
  id: 'd1',
  message_id: 'msg_d1',
  conversation_id: 'a'.repeat(32),
  seq: 7,
  event_kind: 'MessageEvent',
  state: 'failed',
  attempts: 12,
  status_code: 500,
  error: 'The receiver answered 500: no room',
  duration_ms: 12,
  created_at: '2026-11-26T12:00:00Z',
  delivered_at: null,
  next_attempt_at: null,
  started_conversation_id: null,
}
const JOB: Job = {
  id: 'j1',
  kind: 'callbacks.deliver',
  key: null,
  state: 'dead',
  priority: 0,
  attempts: 12,
  run_at: '2026-11-26T12:00:00Z',
  every_seconds: null,
  error: 'OSError: the disk is away',
  result: null,
  created_at: '2026-11-26T12:00:00Z',
  finished_at: '2026-11-26T12:01:00Z',
  has_handler: false,
  trouble: null,
}

const LATE: Job = { ...JOB, id: 'j2', kind: 'audit_log.trim', state: 'waiting', error: null, trouble: 'late' }

test('a webhook is added, its secret shown once, and a failed delivery sent again', async () => {
  const sent: unknown[] = []
  const { user } = renderApp({
    url: '/settings/webhooks',
    extra: [
      http.get('*/api/v1/callbacks', () => HttpResponse.json([CALLBACK])),
      http.post('*/api/v1/callbacks', async ({ request }) => {
        sent.push(await request.json())
        return HttpResponse.json({ ...CALLBACK, secret: 'whsec_once' }, { status: 201 })
      }),
      http.get('*/api/v1/callbacks/c1/deliveries', () => HttpResponse.json({ items: [DELIVERY] })),
      http.post('*/api/v1/callbacks/c1/deliveries/d1/redeliver', () => {
        sent.push('again')
        return HttpResponse.json({ ...DELIVERY, state: 'waiting' })
      }),
    ],
  })
  await user.click(await screen.findByRole('button', { name: 'Add a webhook' }))
  expect(await screen.findByText('Enter a name.')).toBeVisible()
  await user.type(screen.getByRole('textbox', { name: 'Name' }), 'Build board')
  await user.type(screen.getByRole('textbox', { name: 'Address' }), 'https://example.com/hook')
  await user.type(screen.getByRole('textbox', { name: 'Statuses' }), 'finished, error')
  await user.click(screen.getByRole('button', { name: 'Add a webhook' }))
  expect(await screen.findByDisplayValue('whsec_once')).toBeVisible()
  await user.click(screen.getByRole('button', { name: 'Done' }))
  await user.click(screen.getByRole('button', { name: 'Deliveries of Build board' }))
  const deliveries = await screen.findByRole('region', { name: 'Deliveries of Build board' })
  expect(await within(deliveries).findByText(/no room/)).toBeVisible()
  await user.click(within(deliveries).getByRole('button', { name: 'Send MessageEvent 7 again' }))
  await waitFor(() => expect(sent).toHaveLength(2))
  expect(sent[0]).toEqual({
    name: 'Build board',
    processor: 'webhook',
    url: 'https://example.com/hook',
    kinds: [],
    tools: [],
    statuses: ['finished', 'error'],
    is_for_everyone: false,
  })
})

test('e-mail to a person is added with what people want to hear of', async () => {
  const sent: unknown[] = []
  const { user } = renderApp({
    url: '/settings/webhooks',
    extra: [
      http.get('*/api/v1/callbacks', () =>
        HttpResponse.json([{ ...CALLBACK, processor: 'mail', host: null, email: 'ada@acme.dev' }]),
      ),
      http.post('*/api/v1/callbacks', async ({ request }) => {
        sent.push(await request.json())
        return HttpResponse.json({ ...CALLBACK, secret: null }, { status: 201 })
      }),
    ],
  })
  expect(await screen.findByText('ada@acme.dev · finished')).toBeVisible()
  await user.type(screen.getByRole('textbox', { name: 'Name' }), 'Mail')
  await user.selectOptions(screen.getByRole('combobox', { name: 'Send to' }), 'E-mail')
  await user.type(screen.getByRole('textbox', { name: 'E-mail address' }), 'ada@acme.dev')
  await user.click(screen.getByRole('button', { name: 'Add a webhook' }))
  await waitFor(() => expect(sent).toHaveLength(1))
  expect(sent[0]).toEqual({
    name: 'Mail',
    processor: 'mail',
    email: 'ada@acme.dev',
    kinds: [],
    tools: [],
    statuses: ['finished', 'error', 'stuck', 'waiting_for_confirmation'],
    is_for_everyone: false,
  })
})

test('a comment at the git host needs no address, and a task needs instructions', async () => {
  const sent: unknown[] = []
  const { user } = renderApp({
    url: '/settings/webhooks',
    extra: [
      http.get('*/api/v1/callbacks', () =>
        HttpResponse.json([
          { ...CALLBACK, processor: 'comment', host: null },
          { ...CALLBACK, id: 'c2', processor: 'task', host: null, instructions: 'Review it.' },
        ]),
      ),
      http.post('*/api/v1/callbacks', async ({ request }) => {
        sent.push(await request.json())
        return HttpResponse.json({ ...CALLBACK, secret: null }, { status: 201 })
      }),
    ],
  })
  expect(await screen.findByText('Comments on issues and pull requests · finished')).toBeVisible()
  expect(screen.getByText('Starts a task · finished')).toBeVisible()
  await user.type(screen.getByRole('textbox', { name: 'Name' }), 'At the host')
  await user.selectOptions(screen.getByRole('combobox', { name: 'Send to' }), 'A comment at the git host')
  expect(screen.queryByRole('textbox', { name: 'Address' })).not.toBeInTheDocument()
  await user.click(screen.getByRole('button', { name: 'Add a webhook' }))
  await waitFor(() => expect(sent).toHaveLength(1))
  expect(sent[0]).toEqual({
    name: 'At the host',
    processor: 'comment',
    kinds: [],
    tools: [],
    statuses: ['finished', 'error', 'stuck', 'waiting_for_confirmation'],
    is_for_everyone: false,
  })

  await user.type(screen.getByRole('textbox', { name: 'Name' }), 'Review')
  await user.selectOptions(screen.getByRole('combobox', { name: 'Send to' }), 'A new task')
  await user.click(screen.getByRole('button', { name: 'Add a webhook' }))
  expect(await screen.findByText('Say what the agent should do.')).toBeVisible()
  await user.type(screen.getByRole('textbox', { name: 'Instructions' }), 'Review it.')
  await user.click(screen.getByRole('button', { name: 'Add a webhook' }))
  await waitFor(() => expect(sent).toHaveLength(2))
  expect(sent[1]).toMatchObject({
    name: 'Review',
    processor: 'task',
    instructions: 'Review it.',
    statuses: ['finished'],
  })
})

test('a dead job shows its reason and can be run again', async () => {
  const changes: unknown[] = []
  const counts = [{ kind: JOB.kind, state: 'dead', count: 3, has_handler: false }]
  const { user } = renderApp({
    url: '/settings/jobs',
    extra: [
      http.get('*/api/v1/administration/jobs', () =>
        HttpResponse.json({ items: [JOB, LATE], counts, troubled: 1 }),
      ),
      http.post('*/api/v1/administration/jobs/j1/:change', ({ params }) => {
        changes.push(params.change)
        return HttpResponse.json({ ...JOB, state: 'waiting' })
      }),
    ],
  })
  expect(await screen.findByText('OSError: the disk is away')).toBeVisible()
  expect(screen.getAllByText('This server cannot run it')).toHaveLength(2)
  expect(screen.getByText('Late')).toBeVisible()
  expect(screen.getByText('1 job is late, or its server is silent')).toBeVisible()
  expect(screen.getByRole('option', { name: 'Dead (3)' })).toBeInTheDocument()
  await user.click(screen.getByRole('button', { name: 'Run callbacks.deliver now' }))
  await waitFor(() => expect(changes).toEqual(['retry']))
})
