import { screen, waitFor, within } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { expect, test } from 'vitest'
import type { Trigger, TriggerDelivery } from '@/api/automation/triggers'
import { renderApp } from '@/test/render-app'

const TRIGGER: Trigger = {
  id: 't1',
  git_provider: 'github',
  host: 'github.com',
  repository: 'octo/app',
  url: 'https://slipway.example.com/api/v1/git-webhooks/t1',
  events: ['label', 'mention'],
  label: 'slipway',
  mention: 'slipway',
  branch: null,
  paths: [],
  instructions: '',
  llm_profile: null,
  sandbox_spec_id: null,
  opens_pull_request: true,
  max_running: 5,
  previous_secret_until: null,
  created_at: '2026-11-26T12:00:00Z',
  last_delivery_at: null,
}
const DELIVERY: TriggerDelivery = {
  id: 'd1',
  event: 'issue_labelled',
  actor: 'mallory',
  number: 7,
  state: 'ignored',
  action: null,
  reason: 'mallory may not push to octo/app.',
  conversation_id: null,
  created_at: '2026-11-26T12:00:00Z',
  handled_at: '2026-11-26T12:00:01Z',
}

test('a trigger is added with its address and secret shown, and deliveries say why they led to nothing', async () => {
  const sent: unknown[] = []
  const { user } = renderApp({
    url: '/settings/triggers',
    extra: [
      http.get('*/api/v1/triggers', () => HttpResponse.json([TRIGGER])),
      http.post('*/api/v1/triggers', async ({ request }) => {
        sent.push(await request.json())
        return HttpResponse.json({ ...TRIGGER, secret: 'only-once' }, { status: 201 })
      }),
      http.patch('*/api/v1/triggers/t1', async ({ request }) => {
        sent.push(await request.json())
        return HttpResponse.json(TRIGGER)
      }),
      http.get('*/api/v1/sandbox-specs/search', () =>
        HttpResponse.json({
          items: [
            { id: 'default', name: 'Default' },
            { id: 'spec1', name: 'With Rust' },
          ],
          next_page_id: null,
        }),
      ),
      http.get('*/api/v1/triggers/t1/deliveries', () => HttpResponse.json({ items: [DELIVERY] })),
      http.delete('*/api/v1/triggers/t1', () => {
        sent.push('deleted')
        return new HttpResponse(null, { status: 204 })
      }),
    ],
  })
  await user.click(await screen.findByRole('checkbox', { name: 'A push to a path' }))
  await user.click(screen.getByRole('button', { name: 'Add a trigger' }))
  expect(await screen.findByText('Enter the address of a repository.')).toBeVisible()
  expect(screen.getByText(/Enter instructions/)).toBeVisible()
  await user.type(screen.getByRole('textbox', { name: 'Repository' }), 'https://github.com/octo/app')
  await user.type(screen.getByRole('textbox', { name: 'Paths' }), 'docs, *.md')
  await user.type(screen.getByRole('textbox', { name: 'Instructions' }), 'Check the links.')
  await user.click(screen.getByRole('button', { name: 'Add a trigger' }))
  const dialog = await screen.findByRole('dialog')
  expect(within(dialog).getByRole('textbox', { name: 'Address' })).toHaveValue(TRIGGER.url)
  expect(within(dialog).getByRole('textbox', { name: 'Secret' })).toHaveValue('only-once')
  await user.click(within(dialog).getByRole('button', { name: 'Done' }))
  expect(sent[0]).toEqual({
    repository: 'https://github.com/octo/app',
    events: ['label', 'mention', 'assignment', 'review_comment', 'failing_check', 'push'],
    label: 'slipway',
    mention: 'slipway',
    branch: null,
    paths: ['docs', '*.md'],
    instructions: 'Check the links.',
    llm_profile: null,
    sandbox_spec_id: null,
    opens_pull_request: true,
    max_running: 5,
  })

  await user.click(screen.getByRole('button', { name: 'Edit the trigger for octo/app' }))
  const editor = within(screen.getByRole('region', { name: 'Edit the trigger for octo/app' }))
  expect(editor.queryByRole('textbox', { name: 'Repository' })).toBeNull()
  const label = editor.getByRole('textbox', { name: 'Label' })
  expect(label).toHaveValue('slipway')
  await user.clear(label)
  await user.type(label, 'agent')
  const most = editor.getByRole('spinbutton', { name: 'Conversations at a time' })
  await user.clear(most)
  await user.click(editor.getByRole('button', { name: 'Save' }))
  expect(await editor.findByText('Enter a number from 1 to 100.')).toBeVisible()
  await user.type(most, '2')
  await user.selectOptions(editor.getByRole('combobox', { name: 'Sandbox image' }), 'With Rust')
  await user.click(editor.getByRole('button', { name: 'Save' }))
  await waitFor(() =>
    expect(sent[1]).toMatchObject({ label: 'agent', max_running: 2, sandbox_spec_id: 'spec1' }),
  )
  await user.click(screen.getByRole('button', { name: 'Deliveries for octo/app' }))
  expect(await screen.findByText('mallory may not push to octo/app.')).toBeVisible()
  await user.click(screen.getByRole('button', { name: 'Delete the trigger for octo/app' }))
  await user.click(within(await screen.findByRole('dialog')).getByRole('button', { name: 'Delete' }))
  await waitFor(() => expect(sent).toEqual([sent[0], sent[1], 'deleted']))
})
