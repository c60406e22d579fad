import { screen, waitFor, within } from '@testing-library/react'
import { http, HttpResponse, ws } from 'msw'
import { expect, test } from 'vitest'
import { fakeConfig, fakeConversation, fakeStartTask } from '@/test/factories'
import { fakeDemoProfile, fakeProfile } from '@/test/model-factories'
import { problem } from '@/test/handlers'
import { renderApp } from '@/test/render-app'

const START = '*/api/v1/app-conversations'

function acceptStart(bodies: unknown[], id = 'a'.repeat(32)) {
  return [
    http.post(START, async ({ request }) => {
      bodies.push(await request.json())
      return HttpResponse.json(fakeStartTask({ id }))
    }),
    ws.link('*/events/stream*').addEventListener('connection', () => {}),
  ]
}

test('a task with a repository and a branch starts a conversation and opens it at once', async () => {
  const bodies: unknown[] = []
  const set = { name: 'submodules', value: false, level: 'team', enforced: true, overridden: [] }
  const levels = http.get('*/api/v1/settings/levels', () => HttpResponse.json([set]))
  const { user, router } = renderApp({ extra: [levels, ...acceptStart(bodies)] })

  await user.type(await screen.findByLabelText('Task'), '  Fix the failing test ')
  await user.type(screen.getByLabelText('Repository'), '/srv/app')
  await user.type(screen.getByLabelText('Branch'), 'next')
  await user.click(screen.getByText('Advanced'))
  await user.type(screen.getByLabelText('Folder'), 'packages/web')
  expect(screen.getByLabelText('History to fetch')).toHaveDisplayValue('As set: All of it')
  await user.selectOptions(screen.getByLabelText('History to fetch'), 'Newest commit of each branch')
  const submodules = screen.getByLabelText('Submodules')
  await waitFor(() => expect(submodules).toHaveDisplayValue('As set: Leave them out'))
  expect(within(submodules).getAllByRole('option')).toHaveLength(1)
  await user.click(screen.getByRole('button', { name: 'Start' }))

  await waitFor(() => expect(router.state.location.pathname).toBe(`/conversations/${'a'.repeat(32)}`))
  expect(bodies).toEqual([
    {
      initial_message: { role: 'user', content: [{ type: 'text', text: 'Fix the failing test' }], run: true },
      selected_repository: '/srv/app',
      selected_branch: 'next',
      selected_directory: 'packages/web',
      clone: 'shallow',
      llm_profile: 'sonnet',
    },
  ])
})

test('the start page says that a repository belongs to a team, and takes the model of this team', async () => {
  const bodies: unknown[] = []
  const owner = {
    team_id: 't1',
    team_name: 'Payments',
    is_member: true,
    members_see: 'view',
    members_only: false,
    llm_profile: 'of-payments',
  }
  const owned = http.get('*/api/v1/repository-owner', ({ request }) => {
    const repository = new URL(request.url).searchParams.get('repository')
    if (repository === 'acme/other')
      return HttpResponse.json({ ...owner, is_member: false, members_only: true })
    return HttpResponse.json(repository === 'acme/payments' ? owner : null)
  })
  const { user } = renderApp({ extra: [owned, ...acceptStart(bodies)] })

  await user.type(await screen.findByLabelText('Repository'), 'acme/other')
  expect(await screen.findByText('This repository belongs to the team Payments')).toBeVisible()
  await user.clear(screen.getByLabelText('Repository'))
  await user.type(screen.getByLabelText('Repository'), 'acme/payments')
  expect(await screen.findByText('This repository belongs to your team Payments')).toBeVisible()
  expect(screen.getByText(/The members of the team can view the conversation/)).toBeVisible()
  expect(screen.getByLabelText('Model')).toBeDisabled()

  await user.type(screen.getByLabelText('Task'), 'Fix it')
  await user.click(screen.getByRole('button', { name: 'Start' }))
  await waitFor(() => expect(bodies).toHaveLength(1))
  expect(bodies[0]).toMatchObject({ selected_repository: 'acme/payments', llm_profile: 'of-payments' })
})

test('the keyboard alone starts a task in an empty workspace', async () => {
  const bodies: unknown[] = []
  const { user, router } = renderApp({ extra: acceptStart(bodies) })
  await user.type(await screen.findByLabelText('Task'), 'Write a haiku{Control>}{Enter}{/Control}')
  await waitFor(() => expect(router.state.location.pathname).toMatch(/^\/conversations\//))
  expect(bodies[0]).toMatchObject({ selected_repository: null, selected_branch: null })
})

test('a task must say something before it starts', async () => {
  const { user } = renderApp()
  await user.click(await screen.findByRole('button', { name: 'Start' }))
  expect(await screen.findByText('Say what should be done.')).toBeVisible()
})

test('a repository the server refuses is marked where it can be mended', async () => {
  const refusal = problem(422, {
    code: 'repository_not_allowed',
    detail: 'This folder is outside the allowed roots.',
    fix: 'Use a folder below /srv.',
  })
  const { user } = renderApp({ extra: [http.post(START, () => refusal)] })
  await user.type(await screen.findByLabelText('Task'), 'Fix it')
  await user.type(screen.getByLabelText('Repository'), '/etc')
  await user.click(screen.getByRole('button', { name: 'Start' }))
  await waitFor(() => expect(screen.getByLabelText('Repository')).toBeInvalid())
  expect(screen.getByLabelText('Repository')).toHaveAccessibleDescription(
    'This folder is outside the allowed roots. Use a folder below /srv.',
  )
})

test('a refused start keeps the text and says what to do', async () => {
  const refusal = problem(503, {
    code: 'docker_unavailable',
    detail: 'Docker is down.',
    fix: 'Start Docker.',
  })
  const { user } = renderApp({ extra: [http.post(START, () => refusal)] })
  await user.type(await screen.findByLabelText('Task'), 'Fix it')
  await user.click(screen.getByRole('button', { name: 'Start' }))
  expect(await screen.findByRole('alert')).toHaveTextContent('Docker is down.Start Docker.')
  expect(screen.getByLabelText('Task')).toHaveValue('Fix it')
})

test('a real model is preferred to the recording, even when the recording is active', async () => {
  renderApp({ profiles: [fakeDemoProfile(), fakeProfile({ name: 'local' })], activeProfile: 'demo' })
  expect(await screen.findByLabelText('Model')).toHaveValue('local')
})

test('without a model the demo is offered, marked as recorded, and starts with its own task', async () => {
  const bodies: unknown[] = []
  const { user, router } = renderApp({ profiles: [fakeDemoProfile()], extra: acceptStart(bodies) })
  expect(await screen.findByText('Recorded model')).toBeVisible()
  await user.click(screen.getByRole('button', { name: 'Start the demo' }))
  await waitFor(() => expect(router.state.location.pathname).toMatch(/^\/conversations\//))
  expect(bodies[0]).toMatchObject({
    initial_message: { content: [{ text: 'Fix the failing test.' }] },
    selected_repository: '/srv/demo',
    llm_profile: 'demo',
  })
})

test('without a model one can be added in place', async () => {
  const { user } = renderApp({ profiles: [fakeDemoProfile()] })
  await user.click(await screen.findByRole('button', { name: 'Add a model' }))
  expect(await screen.findByRole('dialog', { name: 'Add a model' })).toBeVisible()
})

test.each([
  ['none', 'Commands are not isolated'],
  ['files', 'Partly isolated'],
] as const)(
  'sandboxes that isolate %s are announced in the words of the server',
  async (isolation, title) => {
    renderApp({
      config: fakeConfig({
        sandbox: { backend: 'process', isolation, is_isolated: false, warning: 'Agents can read it.' },
      }),
    })
    expect(await screen.findByText('Agents can read it.')).toBeVisible()
    expect(screen.getByText(title)).toBeVisible()
  },
)

test('sandboxes without a gap need no words', async () => {
  renderApp()
  await screen.findByRole('region', { name: 'Recent conversations' })
  expect(screen.queryByText(/Commands are|gap/)).not.toBeInTheDocument()
})

test('recent conversations lead back to their pages', async () => {
  const conversation = fakeConversation({ title: 'Trim the build' })
  renderApp({ conversations: [conversation] })
  const recent = await screen.findByRole('region', { name: 'Recent conversations' })
  expect(await within(recent).findByRole('link', { name: /Trim the build/ })).toHaveAttribute(
    'href',
    `/conversations/${conversation.id}`,
  )
})

test('repositories and branches are found while one types, and a suggested task starts with a click', async () => {
  const started: unknown[] = []
  const page = (items: unknown[]) => HttpResponse.json({ items, next_page_id: null })
  const clone_url = 'https://github.com/team/harbour.git'
  const task = {
    git_provider: 'github',
    host: 'github.com',
    task_type: 'OPEN_ISSUE',
    repo: 'team/harbour',
    issue_number: 4,
    title: 'The lighthouse is dark',
  }
  const { user } = renderApp({
    url: '/',
    profiles: [fakeProfile()],
    extra: [
      http.get('*/api/v1/settings/git-credentials', () =>
        HttpResponse.json([{ id: 'c1', host: 'github.com', provider: 'github' }]),
      ),
      http.get('*/api/v1/git/repositories/search', () => page([{ clone_url, full_name: 'team/harbour' }])),
      http.get('*/api/v1/git/branches/search', ({ request }) => {
        const repository = new URL(request.url).searchParams.get('repository')
        return page([{ name: `of ${repository}` }])
      }),
      http.get('*/api/v1/git/suggested-tasks/search', () => page([task])),
      http.post('*/api/v1/app-conversations', async ({ request }) => {
        started.push(await request.json())
        return HttpResponse.json(fakeStartTask({ app_conversation_id: 'a1' }))
      }),
    ],
  })
  const repository = await screen.findByLabelText('Repository')
  await waitFor(() => expect(document.querySelector(`option[value="${clone_url}"]`)).not.toBeNull())
  await user.type(repository, clone_url)
  await waitFor(() => expect(document.querySelector('option[value="of team/harbour"]')).not.toBeNull())
  await user.click(await screen.findByRole('button', { name: /The lighthouse is dark/ }))
  await waitFor(() => expect(started).toEqual([{ suggested_task: task }]))
})
