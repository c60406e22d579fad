import { screen, waitFor, within } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { expect, test } from 'vitest'
import type { ApiKey } from '@/api/types'
import { fakeDemoProfile, fakeProfile } from '@/test/model-factories'
import { fakeUser } from '@/test/factories'
import { problem } from '@/test/handlers'
import { NO_VALUES } from '@/test/model-facts'
import { renderApp } from '@/test/render-app'

test('a new model is sent to the server with its key', async () => {
  const sent: unknown[] = []
  const { user } = renderApp({
    url: '/settings/models',
    extra: [
      http.post('*/api/v1/settings/profiles/:name', async ({ request, params }) => {
        sent.push([params.name, await request.json()])
        return HttpResponse.json(fakeProfile(), { status: 201 })
      }),
    ],
  })
  await user.click(await screen.findByRole('button', { name: 'Add a model' }))
  await user.selectOptions(await screen.findByLabelText('Start from'), 'Ollama')
  await user.type(screen.getByLabelText('API key'), 'sk-1')
  await user.type(screen.getByLabelText('Price of input, $'), '2.5')
  await user.type(screen.getByLabelText('Price of output, $'), '0')
  await user.click(screen.getByRole('button', { name: 'Save' }))
  await waitFor(() => expect(screen.queryByRole('dialog')).not.toBeInTheDocument())
  expect(sent).toEqual([
    [
      'local',
      {
        llm: {
          model: 'openai/qwen3-coder',
          base_url: 'http://localhost:11434/v1',
          ...NO_VALUES,
          input_cost_per_token: 0.0000025,
          output_cost_per_token: 0,
          api_key: 'sk-1',
        },
      },
    ],
  ])
})

test('editing a model leaves its stored key alone unless a new one is typed', async () => {
  const sent: unknown[] = []
  const { user } = renderApp({
    url: '/settings/models',
    extra: [
      http.post('*/api/v1/settings/profiles/:name', async ({ request }) => {
        sent.push(await request.json())
        return HttpResponse.json(fakeProfile(), { status: 201 })
      }),
    ],
  })
  await user.click(await screen.findByRole('button', { name: 'Actions for sonnet' }))
  await user.click(await screen.findByRole('menuitem', { name: 'Edit' }))
  await user.click(await screen.findByRole('button', { name: 'Save' }))
  await waitFor(() =>
    expect(sent).toEqual([
      {
        llm: {
          model: 'anthropic/claude-sonnet-4-5',
          base_url: null,
          ...NO_VALUES,
        },
      },
    ]),
  )
})

test('a refused model keeps the form open and shows cause and fix', async () => {
  const refusal = problem(422, {
    code: 'model_unknown',
    detail: 'No such model.',
    fix: 'Check its spelling.',
  })
  const { user } = renderApp({
    url: '/settings/models',
    extra: [http.post('*/api/v1/settings/profiles/:name', () => refusal)],
  })
  await user.click(await screen.findByRole('button', { name: 'Add a model' }))
  await user.selectOptions(await screen.findByLabelText('Start from'), 'OpenAI')
  await user.click(screen.getByRole('button', { name: 'Save' }))
  const alert = await screen.findByRole('alert')
  expect(alert).toHaveTextContent('No such model.')
  expect(alert).toHaveTextContent('Check its spelling.')
  expect(screen.getByLabelText('Model')).toHaveValue('openai/gpt-5')
})

test('fields are checked before anything is sent', async () => {
  const { user } = renderApp({ url: '/settings/models' })
  await user.click(await screen.findByRole('button', { name: 'Add a model' }))
  await user.type(await screen.findByLabelText('Name'), 'a b')
  await user.type(screen.getByLabelText('Base URL'), 'localhost')
  await user.click(screen.getByRole('button', { name: 'Save' }))
  expect(await screen.findByText(/dots, dashes and underscores only/)).toBeVisible()
  expect(screen.getByText('Name the model.')).toBeVisible()
  expect(screen.getByText(/begins with http/)).toBeVisible()
})

test('a recorded model is marked and can be neither edited nor deleted', async () => {
  const { user } = renderApp({ url: '/settings/models', profiles: [fakeDemoProfile()] })
  expect(await screen.findByText('Recorded')).toBeVisible()
  await user.click(screen.getByRole('button', { name: 'Actions for demo' }))
  expect(await screen.findByRole('menuitem', { name: 'Delete' })).toHaveAttribute('aria-disabled', 'true')
})

test('an administrator shares a model with everyone, and stops that', async () => {
  const sent: string[] = []
  const change = ({ request }: { request: Request }) => {
    sent.push(request.method)
    return HttpResponse.json(fakeProfile())
  }
  const { user } = renderApp({
    url: '/settings/models',
    profiles: [fakeProfile({ name: 'own' }), fakeProfile({ name: 'ours', is_shared: true })],
    extra: [
      http.put('*/api/v1/settings/shared-profiles/own', change),
      http.delete('*/api/v1/settings/shared-profiles/ours', change),
    ],
  })
  await user.click(await screen.findByRole('button', { name: 'Actions for own' }))
  await user.click(await screen.findByRole('menuitem', { name: 'Share with everyone' }))
  expect(await screen.findByText('Everyone can use own now')).toBeVisible()
  expect(screen.getByText('Shared with everyone')).toBeVisible()
  await user.click(screen.getByRole('button', { name: 'Actions for ours' }))
  await user.click(await screen.findByRole('menuitem', { name: 'Stop sharing' }))
  expect(await screen.findByText('ours is not shared any more')).toBeVisible()
  expect(sent).toEqual(['PUT', 'DELETE'])
})

test("another person's shared model can be made active and tested, not changed", async () => {
  const { user } = renderApp({
    url: '/settings/models',
    profiles: [fakeProfile({ name: 'ours', is_own: false, is_shared: true })],
    user: fakeUser({ role: 'member' }),
  })
  expect(await screen.findByText('Shared by an administrator')).toBeVisible()
  await user.click(screen.getByRole('button', { name: 'Actions for ours' }))
  expect(await screen.findByRole('menuitem', { name: 'Edit' })).toHaveAttribute('aria-disabled', 'true')
  expect(screen.getByRole('menuitem', { name: 'Delete' })).toHaveAttribute('aria-disabled', 'true')
  expect(screen.getByRole('menuitem', { name: 'Test' })).not.toHaveAttribute('aria-disabled', 'true')
  expect(screen.queryByRole('menuitem', { name: 'Stop sharing' })).toBeNull()
})

test('an API key is shown once when it is created, and can be revoked', async () => {
  const key: ApiKey = {
    scopes: null,
    addresses: ['192.0.2.0/24', '2001:db8::1/128'],
    expires_at: null,
    id: '1',
    name: 'ci',
    prefix: 'slw_ab',
    created_at: '2026-01-01T00:00:00Z',
    last_used_at: null,
  }
  const stored: ApiKey[] = []
  let wanted: unknown
  const { user } = renderApp({
    url: '/settings/api-keys',
    extra: [
      http.get('*/api/v1/api-keys', () => HttpResponse.json(stored)),
      http.post('*/api/v1/api-keys', async ({ request }) => {
        wanted = await request.json()
        stored.push(key)
        return HttpResponse.json({ ...key, key: 'slw_ab_secret' }, { status: 201 })
      }),
      http.delete('*/api/v1/api-keys/1', () => {
        stored.length = 0
        return new HttpResponse(null, { status: 204 })
      }),
    ],
  })
  await user.type(await screen.findByLabelText('Name'), 'ci')
  await user.type(screen.getByLabelText('Allowed addresses'), '192.0.2.0/24, 2001:db8::1')
  await user.click(screen.getByRole('button', { name: 'Create a key' }))
  expect(await screen.findByDisplayValue('slw_ab_secret')).toBeVisible()
  expect(wanted).toEqual({ name: 'ci', addresses: ['192.0.2.0/24', '2001:db8::1'] })
  expect(screen.getByText(/Only from 192.0.2.0\/24, 2001:db8::1\/128/)).toBeInTheDocument()
  await user.click(screen.getByRole('button', { name: 'Done' }))
  expect(screen.queryByDisplayValue('slw_ab_secret')).not.toBeInTheDocument()

  await user.click(await screen.findByRole('button', { name: 'Revoke ci' }))
  await user.click(await screen.findByRole('button', { name: 'Revoke key' }))
  expect(await screen.findByText('No API keys')).toBeVisible()
})

test('the API keys page says how other programs connect', async () => {
  const { user } = renderApp({
    url: '/settings/api-keys',
    extra: [http.get('*/api/v1/api-keys', () => HttpResponse.json([]))],
  })
  const connect = await screen.findByRole('region', { name: 'Connect other programs' })
  const address = `${window.location.origin}/mcp`
  expect(within(connect).getByText(address)).toBeVisible()
  const command = `claude mcp add --transport http slipway ${address} --header "Authorization: Bearer YOUR_KEY"`
  expect(within(connect).getByText(command)).toBeVisible()
  await user.click(within(connect).getByRole('button', { name: 'Copy: Claude Code' }))
  expect(await navigator.clipboard.readText()).toBe(command)
})

test('the chosen theme applies at once and is remembered', async () => {
  const { user } = renderApp({ url: '/settings/appearance' })
  await user.click(await screen.findByRole('radio', { name: 'Dark' }))
  expect(document.documentElement.dataset.theme).toBe('dark')
  expect(localStorage.getItem('slipway.theme')).toBe('dark')
  await user.click(screen.getByRole('radio', { name: 'System' }))
  expect(document.documentElement.dataset.theme).toBeUndefined()
})

test('a secret is saved, listed by its name, and deleted; its value is not kept', async () => {
  const sent: unknown[] = []
  const stored: { name: string; description: string }[] = []
  const { user } = renderApp({
    url: '/settings/secrets',
    extra: [
      http.get('*/api/v1/secrets/search', () => HttpResponse.json({ items: stored, next_page_id: null })),
      http.post('*/api/v1/secrets', async ({ request }) => {
        sent.push(await request.json())
        stored.push({ name: 'TOKEN', description: 'For staging' })
        return HttpResponse.json(stored[0], { status: 201 })
      }),
      http.delete('*/api/v1/secrets/TOKEN', () => {
        stored.length = 0
        return new HttpResponse(null, { status: 204 })
      }),
    ],
  })
  await user.type(await screen.findByLabelText('Name'), 'not a name')
  await user.type(screen.getByLabelText('Value'), 'abc')
  await user.click(screen.getByRole('button', { name: 'Save the secret' }))
  expect(await screen.findByText('At least 4 characters.')).toBeVisible()
  expect(sent).toEqual([])

  await user.clear(screen.getByLabelText('Name'))
  await user.type(screen.getByLabelText('Name'), 'TOKEN')
  await user.type(screen.getByLabelText('Value'), 'd-value')
  await user.type(screen.getByLabelText('What it is for'), 'For staging')
  await user.click(screen.getByRole('button', { name: 'Save the secret' }))
  expect(await screen.findByText('For staging')).toBeVisible()
  expect(sent).toEqual([{ name: 'TOKEN', value: 'abcd-value', description: 'For staging' }])
  await waitFor(() => expect(screen.getByLabelText('Value')).toHaveValue(''))

  await user.click(screen.getByRole('button', { name: 'Delete TOKEN' }))
  await user.click(await screen.findByRole('button', { name: 'Delete secret' }))
  expect(await screen.findByText('No secrets')).toBeVisible()
})

test('the pages stand in groups, and a list leads to them on narrow screens', async () => {
  const { user } = renderApp({ url: '/settings/models' })
  const links = within(await screen.findByRole('navigation', { name: 'Settings' }))
  const account = links.getByRole('heading', { name: 'Your account' }).parentElement!
  expect(within(account).getByRole('link', { name: 'API keys' })).toBeVisible()
  await user.selectOptions(screen.getByLabelText('Settings page'), 'Appearance')
  expect(await screen.findByRole('heading', { name: 'Appearance', level: 2 })).toBeVisible()
})
