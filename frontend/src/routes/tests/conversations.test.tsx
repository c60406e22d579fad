import { createEvent, fireEvent, screen, waitFor, within } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { expect, onTestFinished, test, vi } from 'vitest'
import { fakeConversation } from '@/test/factories'
import { problem } from '@/test/handlers'
import { renderApp } from '@/test/render-app'

const main = () => within(screen.getByRole('main'))

test('typing into the search keeps only matching titles and goes into the address', async () => {
  const conversations = [
    fakeConversation({ title: 'Round invoices' }),
    fakeConversation({ title: 'Move to dates' }),
  ]
  const { user, router } = renderApp({ url: '/conversations', conversations })
  await waitFor(() => expect(main().getByText('Round invoices')).toBeVisible())

  await user.type(main().getByLabelText('Search conversations'), 'dates')
  await waitFor(() => expect(main().queryByText('Round invoices')).not.toBeInTheDocument())
  expect(main().getByText('Move to dates')).toBeVisible()
  expect(router.state.location.search).toBe('?q=dates')
})

test('a search without a match can be cleared', async () => {
  const { user } = renderApp({ url: '/conversations?q=zebra', conversations: [fakeConversation()] })
  await user.click(await screen.findByRole('button', { name: 'Clear the search' }))
  await waitFor(() => expect(main().getByText('Fix the failing test')).toBeVisible())
})

test('a conversation is archived and leaves the list, and comes back from the archive', async () => {
  const conversations = [fakeConversation({ title: 'Old' }), fakeConversation({ title: 'Other' })]
  const asked: (string | null)[] = []
  const { user, router } = renderApp({
    url: '/conversations',
    conversations,
    extra: [
      http.get('*/api/v1/app-conversations/search', ({ request }) => {
        const archived = new URL(request.url).searchParams.get('archived')
        asked.push(archived)
        const items = conversations.filter((each) => archived === null || `${each.archived}` === archived)
        return HttpResponse.json({ items, next_page_id: null })
      }),
      http.post('*/api/v1/app-conversations/batch', async ({ request }) => {
        const { ids, action } = (await request.json()) as { ids: string[]; action: string }
        conversations[0] = { ...conversations[0]!, archived: action === 'archive' }
        return HttpResponse.json({
          results: ids.map((id) => ({ id, conversation: conversations[0], problem: null })),
        })
      }),
    ],
  })
  await user.click(await screen.findByRole('button', { name: 'More actions: Old' }))
  await user.click(await screen.findByRole('menuitem', { name: 'Archive' }))
  await waitFor(() => expect(main().queryByText('Old')).not.toBeInTheDocument())
  expect(main().getByText('Other')).toBeVisible()

  await user.selectOptions(main().getByLabelText('Archived conversations'), 'Archived')
  expect(await main().findByText('Old')).toBeVisible()
  expect(router.state.location.search).toBe('?archived=archived')
  await user.click(main().getByLabelText('Select: Old'))
  await user.click(await screen.findByRole('button', { name: 'Move out of the archive' }))
  await waitFor(() => expect(main().queryByText('Old')).not.toBeInTheDocument())
  expect(asked).toContain('true')
})

test('a list that cannot be loaded says why and can be tried again', async () => {
  let failing = true
  const { user } = renderApp({
    url: '/conversations',
    conversations: [fakeConversation()],
    extra: [
      http.get('*/api/v1/app-conversations/search', () =>
        failing ? problem(403, { code: 'forbidden', detail: 'Your role may not see this.' }) : undefined,
      ),
    ],
  })
  await waitFor(() => expect(main().getByText('Your role may not see this.')).toBeVisible())
  failing = false
  await user.click(main().getByRole('button', { name: 'Try again' }))
  await waitFor(() => expect(main().getByText('Fix the failing test')).toBeVisible())
})

test('the list can be limited to a status and a repository, which stay in the address', async () => {
  const conversations = [
    fakeConversation({ title: 'One', execution_status: 'error', selected_repository: 'acme/crane' }),
    fakeConversation({ title: 'Two', execution_status: 'finished', selected_repository: 'acme/boat' }),
    fakeConversation({ title: 'Three', execution_status: 'finished', selected_repository: 'acme/crane' }),
  ]
  const { user, router } = renderApp({ url: '/conversations?status=finished', conversations })
  await waitFor(() => expect(main().getByText('Two')).toBeVisible())
  expect(main().queryByText('One')).not.toBeInTheDocument()

  await user.type(main().getByLabelText('Repository'), 'crane')
  await waitFor(() => expect(main().queryByText('Two')).not.toBeInTheDocument())
  expect(main().getByText('Three')).toBeVisible()
  expect(router.state.location.search).toBe('?repository=crane&status=finished')

  await user.selectOptions(main().getByLabelText('Status of the agent'), 'Stuck')
  await user.click(await main().findByRole('button', { name: 'Clear the search' }))
  await waitFor(() => expect(main().getByText('One')).toBeVisible())
  expect(router.state.location.search).toBe('')
})

test('the list can be limited to a model, a branch, an owner and days, which stay in the address', async () => {
  const grace = { created_by_user_id: 'f'.repeat(32), owner_name: 'Grace', access: 'view' as const }
  const conversations = [
    fakeConversation({ title: 'One', llm_model: 'large', selected_branch: 'main', ...grace }),
    fakeConversation({ title: 'Two', llm_model: 'large', created_at: '2025-03-10T12:00:00Z', ...grace }),
    fakeConversation({ title: 'Three', llm_model: 'small', created_at: '2025-03-10T12:00:00Z' }),
  ]
  const { user, router } = renderApp({ url: '/conversations?model=large', conversations })
  await waitFor(() => expect(main().getByText('Two')).toBeVisible())
  expect(main().queryByText('Three')).not.toBeInTheDocument()

  await user.selectOptions(await main().findByLabelText('Branch'), 'main')
  await waitFor(() => expect(main().queryByText('Two')).not.toBeInTheDocument())
  await user.selectOptions(main().getByLabelText('Branch'), 'Any branch')
  await user.selectOptions(main().getByLabelText('Owner'), 'Grace')
  fireEvent.change(main().getByLabelText('Created from'), { target: { value: '2025-03-01' } })
  fireEvent.change(main().getByLabelText('Created until'), { target: { value: '2025-03-31' } })
  await waitFor(() => expect(main().queryByText('One')).not.toBeInTheDocument())
  expect(main().getByText('Two')).toBeVisible()
  expect(Object.fromEntries(new URLSearchParams(router.state.location.search))).toEqual({
    model: 'large',
    owner: 'f'.repeat(32),
    from: '2025-03-01',
    to: '2025-03-31',
  })
})

test('filters that are chosen while the page is busy all hold', async () => {
  const conversations = [
    fakeConversation({ llm_model: 'large', selected_branch: 'main' }),
    fakeConversation({ llm_model: 'small', selected_branch: 'repairs' }),
  ]
  const { router } = renderApp({ url: '/conversations', conversations })
  await screen.findByLabelText('Branch')
  const change = (label: string, value: string) => {
    const field = main().getByLabelText(label)
    field.dispatchEvent(createEvent.change(field, { target: { value } }))
  }

  // Outside of `act`, React renders as in a browser: in several steps, and events arrive between them.
  vi.stubGlobal('IS_REACT_ACT_ENVIRONMENT', false)
  onTestFinished(() => void vi.unstubAllGlobals())
  const expected: Record<string, string> = {}
  for (let day = 10; day < 30; day++) {
    const choices = [
      ['Model', 'model', day % 2 ? 'large' : 'small'],
      ['Branch', 'branch', day % 2 ? 'main' : 'repairs'],
      ['Created from', 'from', `2025-03-${day}`],
    ] as const
    for (const [label, name, value] of choices) {
      change(label, value)
      expected[name] = value
      expect(Object.fromEntries(new URLSearchParams(router.state.location.search))).toEqual(expected)
      for (let pause = 0; pause < day % 4; pause++) await new Promise((resolve) => setImmediate(resolve))
    }
  }
  await waitFor(() => expect(main().getByLabelText('Created from')).toHaveValue('2025-03-29'))
  expect(main().getByLabelText('Model')).toHaveValue('large')
  expect(main().getByLabelText('Branch')).toHaveValue('main')
})

test('tags are given to a conversation, and filter the list', async () => {
  const conversations = [
    fakeConversation({ title: 'Old', tags: { bug: '' } }),
    fakeConversation({ title: 'Other', tags: {} }),
  ]
  const { user, router } = renderApp({
    url: '/conversations',
    conversations,
    extra: [
      http.patch('*/api/v1/app-conversations/:id', async ({ request }) => {
        conversations[0] = { ...conversations[0]!, ...((await request.json()) as object) }
        return HttpResponse.json(conversations[0])
      }),
    ],
  })
  await user.click(await screen.findByRole('button', { name: 'More actions: Old' }))
  await user.click(await screen.findByRole('menuitem', { name: 'Tags' }))
  const field = await screen.findByLabelText('Tags, separated by commas')
  expect(field).toHaveValue('bug')
  await user.type(field, ', Not a tag{Enter}')
  expect(field).toBeInvalid()
  await user.clear(field)
  await user.type(field, 'bug, team:blue{Enter}')
  await waitFor(() => expect(main().getByText('team:blue', { selector: 'span' })).toBeVisible())

  await user.selectOptions(await main().findByLabelText('Tag'), 'team:blue')
  await waitFor(() => expect(main().queryByText('Other')).not.toBeInTheDocument())
  expect(router.state.location.search).toBe('?tag=team%3Ablue')
})

test('several conversations are tagged and deleted at once, but not those of others', async () => {
  const conversations = [
    fakeConversation({ title: 'First', tags: { bug: '' } }),
    fakeConversation({ title: 'Second' }),
    fakeConversation({ title: 'Theirs', access: 'view' }),
  ]
  const [first, second] = conversations.map(({ id }) => id)
  const asked: object[] = []
  const { user } = renderApp({
    url: '/conversations',
    conversations,
    extra: [
      http.post('*/api/v1/app-conversations/batch', async ({ request }) => {
        const body = (await request.json()) as { ids: string[]; action: string }
        asked.push(body)
        const mayDelete = asked.length > 2
        if (body.action === 'delete' && mayDelete) conversations.splice(0, 2)
        const refused = { status: 409, code: 'busy', detail: 'It cannot be deleted now.', fix: null }
        return HttpResponse.json({
          results: body.ids.map((id) => ({
            id,
            conversation: conversations.find((each) => each.id === id) ?? null,
            problem: body.action === 'delete' && !mayDelete && id === second ? refused : null,
          })),
        })
      }),
    ],
  })
  await user.click(await screen.findByLabelText('Select: First'))
  await user.click(screen.getByLabelText('Select: Second'))
  expect(screen.queryByLabelText('Select: Theirs')).not.toBeInTheDocument()
  expect(screen.getByText('2 selected')).toBeVisible()

  await user.click(screen.getByRole('button', { name: 'Add tags' }))
  await user.type(await screen.findByLabelText('Tags, separated by commas'), 'done{Enter}')
  await waitFor(() => expect(screen.queryByRole('dialog')).not.toBeInTheDocument())
  await user.click(screen.getByRole('button', { name: 'Delete' }))
  await user.click(await screen.findByRole('button', { name: 'Delete 2 conversations' }))
  expect(await screen.findByText('It cannot be deleted now.')).toBeVisible()
  await user.click(screen.getByRole('button', { name: 'Delete 2 conversations' }))

  await waitFor(() => expect(screen.queryByRole('toolbar')).not.toBeInTheDocument())
  expect(asked).toEqual([
    { action: 'tag', ids: [first, second], tags: { done: '' } },
    { action: 'delete', ids: [first, second] },
    { action: 'delete', ids: [first, second] },
  ])
})

test('an exported conversation is imported and opened to be read', async () => {
  const conversation = fakeConversation({
    title: 'From a file',
    trigger: 'import',
    sandbox_status: 'MISSING',
  })
  const conversations: (typeof conversation)[] = []
  const types: (string | null)[] = []
  const { user, router } = renderApp({
    url: '/conversations',
    conversations,
    extra: [
      http.post('*/api/v1/app-conversations/import', ({ request }) => {
        types.push(request.headers.get('content-type'))
        conversations.push(conversation)
        return HttpResponse.json(conversation, { status: 201 })
      }),
    ],
  })
  const file = new File(['PK'], 'export.zip', { type: 'application/zip' })
  await user.upload(await screen.findByLabelText('Reads the zip of a downloaded conversation'), file)

  await waitFor(() => expect(router.state.location.pathname).toBe(`/conversations/${conversation.id}`))
  expect(await screen.findByText(/This conversation was imported/)).toBeVisible()
  expect(screen.queryByRole('button', { name: 'Checkpoints' })).not.toBeInTheDocument()
  expect(types).toEqual(['application/zip'])
})
