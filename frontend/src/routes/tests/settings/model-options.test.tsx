import { screen, waitFor } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { expect, test } from 'vitest'
import { fakeProfile } from '@/test/model-factories'
import { fakeModelFacts, NO_VALUES } from '@/test/model-facts'
import { renderApp } from '@/test/render-app'

test('how a model is asked is sent, and shows what holds while it is empty', async () => {
  const sent: unknown[] = []
  const facts = fakeModelFacts({ is_listed: false, refused: ['top_p'], efforts: ['low', 'high'] })
  const { user } = renderApp({
    url: '/settings/models',
    profiles: [fakeProfile({ extra_header_names: ['X-Team'], temperature: 0.5 })],
    extra: [
      http.get('*/api/v1/settings/model-facts', () => HttpResponse.json(facts)),
      http.post('*/api/v1/settings/profiles/:name', async ({ request }) => {
        sent.push(await request.json())
        return HttpResponse.json(fakeProfile(), { status: 201 })
      }),
    ],
  })
  await user.click(await screen.findByRole('button', { name: 'Actions for sonnet' }))
  await user.click(await screen.findByRole('menuitem', { name: 'Edit' }))
  expect(await screen.findByText(/not in the catalogue; these defaults are used/)).toBeVisible()
  expect(screen.getByText(/A context window of 200,000 tokens/)).toBeVisible()
  await user.click(screen.getByText('Advanced'))
  expect(screen.getByLabelText('Context window, tokens')).toHaveAttribute('placeholder', '200000')
  expect(screen.getByLabelText('Price of cached input, $')).toHaveAttribute('placeholder', '0.3')
  expect(screen.getByLabelText('Top p')).toHaveAttribute('placeholder', 'Not accepted')
  expect(screen.getByRole('option', { name: 'medium' })).toBeDisabled()
  await user.selectOptions(screen.getByLabelText('Reasoning effort'), 'high')
  await user.selectOptions(screen.getByLabelText('Images'), 'no')
  await user.selectOptions(screen.getByLabelText('Tool calls'), 'in text')
  await user.type(screen.getByLabelText('Context window, tokens'), '32768')
  await user.type(screen.getByLabelText('Timeout, seconds'), '90')
  await user.type(screen.getByLabelText('Extra body'), 'x')
  await user.type(screen.getByLabelText('Extra headers'), 'X-Team: red')
  await user.click(screen.getByRole('button', { name: 'Save' }))
  expect(await screen.findByText('Enter a JSON object.')).toBeVisible()
  await user.clear(screen.getByLabelText('Extra body'))
  await user.click(screen.getByLabelText('Extra body'))
  await user.paste('{"seed": 7}')
  await user.click(screen.getByRole('button', { name: 'Save' }))
  await waitFor(() =>
    expect(sent).toEqual([
      {
        llm: {
          model: 'anthropic/claude-sonnet-4-5',
          base_url: null,
          ...NO_VALUES,
          temperature: 0.5,
          reasoning_effort: 'high',
          supports_images: false,
          native_tool_calling: false,
          max_input_tokens: 32768,
          timeout: 90,
          extra_body: { seed: 7 },
          extra_headers: { 'X-Team': 'red' },
        },
      },
    ]),
  )
})

test('a model is tested, and what works is shown with its cost', async () => {
  const trial = {
    answers: true,
    tool_calls: 'in_text',
    native_tool_calling: true,
    streams: true,
    reasons: false,
    images: null,
    caching: true,
    caching_skipped: null,
    cached_tokens: 4992,
    prompt_tokens: 1200,
    completion_tokens: 10,
    cost: 0.0123,
    seconds: 1.5,
    refusal: null,
  }
  const noCache = {
    ...trial,
    caching: null,
    caching_skipped: 'no_cache',
    cached_tokens: 0,
    native_tool_calling: false,
  }
  const results = [trial, noCache]
  const { user } = renderApp({
    url: '/settings/models',
    extra: [http.post('*/api/v1/settings/profiles/sonnet/test', () => HttpResponse.json(results.shift()))],
  })
  await user.click(await screen.findByRole('button', { name: 'Actions for sonnet' }))
  await user.click(await screen.findByRole('menuitem', { name: 'Test' }))
  await user.click(await screen.findByRole('button', { name: 'Start the test' }))
  expect(await screen.findByText('Answers: works')).toBeVisible()
  expect(screen.getByText(/^Tool calls: in text. Agents can use them only if/)).toBeVisible()
  expect(screen.getByText('Images: not used')).toBeVisible()
  expect(screen.getByText('1,200 tokens in, 10 out, 1.5 s. Cost: $0.0123.')).toBeVisible()
  expect(screen.getByText('Prompt caching: works; 4,992 tokens came from the cache')).toBeVisible()
  await user.click(screen.getByRole('button', { name: 'Test again' }))
  expect(await screen.findByText('Tool calls: in text')).toBeVisible()
  expect(await screen.findByText(/^Prompt caching: not tested, because the catalogue lists/)).toBeVisible()
})

test('a local server lists its models, and is told how long its context must be', async () => {
  const asked: unknown[] = []
  const { user } = renderApp({
    url: '/settings/models',
    extra: [
      http.post('*/api/v1/settings/model-list', async ({ request }) => {
        asked.push(await request.json())
        return HttpResponse.json({ models: [{ id: 'Qwen/Qwen3-Coder', context_window: 40960 }] })
      }),
    ],
  })
  await user.click(await screen.findByRole('button', { name: 'Add a model' }))
  await user.selectOptions(await screen.findByLabelText('Start from'), 'vLLM')
  expect(await screen.findByText(/--max-model-len 32768 or more/)).toBeVisible()
  await user.click(screen.getByRole('button', { name: "List the server's models" }))
  expect(await screen.findByText('1 model found. Pick it in the field above.')).toBeVisible()
  expect(asked).toEqual([{ base_url: 'http://localhost:8000/v1' }])
  const suggested = document.querySelector('datalist option')
  expect(suggested).toHaveValue('openai/Qwen/Qwen3-Coder')
})

test('a model at Vertex AI has the key of a service account, and a location', async () => {
  const saved: unknown[] = []
  const { user } = renderApp({
    url: '/settings/models',
    extra: [
      http.post('*/api/v1/settings/profiles/vertex', async ({ request }) => {
        saved.push(await request.json())
        return HttpResponse.json({}, { status: 201 })
      }),
    ],
  })
  await user.click(await screen.findByRole('button', { name: 'Add a model' }))
  await user.selectOptions(await screen.findByLabelText('Start from'), 'Vertex AI')
  expect(await screen.findByText(/with the role Vertex AI User/)).toBeVisible()
  await user.click(await screen.findByLabelText('Key of a service account (JSON)'))
  await user.paste('{"type": "service_account"}')
  await user.click(screen.getByText('Advanced'))
  await user.type(await screen.findByLabelText('Location'), 'europe-west4')
  await user.type(screen.getByLabelText('Fallback models'), 'sonnet, local')
  await user.click(screen.getAllByRole('button', { name: 'Save' }).at(-1)!)
  await waitFor(() =>
    expect(saved).toMatchObject([
      {
        llm: {
          api_key: '{"type": "service_account"}',
          location: 'europe-west4',
          fallbacks: ['sonnet', 'local'],
        },
      },
    ]),
  )
})
