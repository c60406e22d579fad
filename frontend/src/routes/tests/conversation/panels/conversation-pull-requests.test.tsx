import { screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { http, HttpResponse } from 'msw'
import { describe, expect, it } from 'vitest'
import type { PullRequest } from '@/api/git/pull-requests'
import { problem } from '@/test/handlers'
import { openConversation } from '@/test/open-conversation'

const REPOSITORY = { selected_repository: 'https://github.com/team/harbour.git' }

function pullRequest(changes: Partial<PullRequest> = {}): PullRequest {
  return {
    id: 'p1',
    git_provider: 'github',
    repository: 'team/harbour',
    number: 7,
    url: 'https://github.com/team/harbour/pull/7',
    title: 'Measure the depth',
    state: 'open',
    is_draft: true,
    head: 'slipway/depth',
    base: 'main',
    head_commit: 'a'.repeat(40),
    mergeability: 'clean',
    checks: [{ id: '1', name: 'tests', state: 'failed', url: null, summary: '2 failed' }],
    reviews: [{ author: 'grace', verdict: 'changes_requested', body: 'Please.' }],
    unresolved_threads: 2,
    is_review_being_addressed: false,
    problem: null,
    created_at: '2026-11-22T08:00:00Z',
    refreshed_at: '2026-11-22T08:00:00Z',
    ...changes,
  }
}

const proposal = {
  repository: 'team/harbour',
  git_provider: 'github',
  title: 'Measure the depth',
  body: 'It is measured now.',
  head: 'slipway/depth',
  base: 'main',
  uncommitted_files: 1,
  commits: [],
  is_pushed: false,
  screenshots: [
    { id: 's1', title: 'Start page', url: 'data:image/jpeg;base64,/9j/' },
    { id: 's2', title: 'Map', url: 'data:image/jpeg;base64,/9j/' },
  ],
  takes_screenshots: true,
}

const listed = (known: PullRequest[]) => http.get('*/pull-requests', () => HttpResponse.json(known))
const tab = () => screen.findByRole('tab', { name: 'Pull requests' }, { timeout: 10_000 })

describe('the pull requests of a conversation', () => {
  it('have no place for a repository on the server', async () => {
    openConversation({ conversation: { selected_repository: '/srv/git/harbour' } })
    expect(await screen.findByText('No changes', {}, { timeout: 10_000 })).toBeVisible()
    expect(screen.queryByRole('tab', { name: 'Pull requests' })).toBeNull()
  })

  it('are opened from a draft that can be edited', async () => {
    const known: PullRequest[] = []
    const sent: unknown[] = []
    openConversation({
      conversation: REPOSITORY,
      extra: [
        listed(known),
        http.get('*/pull-requests/proposal', () => HttpResponse.json(proposal)),
        http.post('*/pull-requests', async ({ request }) => {
          sent.push(await request.json())
          known.push(pullRequest())
          const left_out = ['The labels depth were not added: no such label.']
          return HttpResponse.json({ pull_request: known[0], is_new: true, left_out }, { status: 201 })
        }),
      ],
    })
    await userEvent.click(await tab())
    await userEvent.click(await screen.findByRole('button', { name: 'Create pull request' }))
    const dialog = within(await screen.findByRole('dialog', { name: 'Create pull request' }))
    const title = await dialog.findByLabelText('Title')
    expect(title).toHaveValue('Measure the depth')
    expect(dialog.getByText(/1 file is not committed/)).toBeVisible()
    await userEvent.clear(title)
    await userEvent.type(title, 'Measure')
    await userEvent.type(dialog.getByLabelText('Reviewers'), 'grace, ada')
    await userEvent.type(dialog.getByLabelText('Labels'), 'depth')
    expect(dialog.getByText(/uploads them to the git host/)).toBeVisible()
    expect(dialog.getByRole('checkbox', { name: 'Start page' })).not.toBeChecked()
    await userEvent.click(dialog.getByRole('checkbox', { name: 'Map' }))
    await userEvent.click(dialog.getByRole('button', { name: 'Create pull request' }))

    expect(await screen.findByText('The labels depth were not added: no such label.')).toBeVisible()
    expect(await screen.findByText('grace wants changes')).toBeVisible()
    const { title: _, body, head, base } = proposal
    expect(sent).toEqual([
      {
        title: 'Measure',
        body,
        head,
        base,
        draft: true,
        labels: ['depth'],
        reviewers: ['grace', 'ada'],
        screenshots: ['s2'],
      },
    ])
  })

  it('are opened in the repository that is chosen', async () => {
    const sent: unknown[] = []
    openConversation({
      conversation: {
        ...REPOSITORY,
        more_repositories: [
          {
            repository: 'https://gitlab.com/crew/lamp',
            branch: null,
            git_provider: 'gitlab',
            directory: 'lamp',
            base_commit: null,
          },
        ],
      },
      extra: [
        listed([]),
        http.get('*/pull-requests/proposal', ({ request }) => {
          const isLamp = new URL(request.url).searchParams.get('repository') === 'lamp'
          return HttpResponse.json(isLamp ? { ...proposal, title: 'Light it' } : proposal)
        }),
        http.post('*/pull-requests', async ({ request }) => {
          sent.push(await request.json())
          return HttpResponse.json(
            { pull_request: pullRequest(), is_new: true, left_out: [] },
            { status: 201 },
          )
        }),
      ],
    })
    await userEvent.click(await tab())
    await userEvent.click(await screen.findByRole('button', { name: 'Create pull request' }))
    const dialog = within(await screen.findByRole('dialog', { name: 'Create pull request' }))
    await userEvent.selectOptions(dialog.getByLabelText('Repository'), 'https://gitlab.com/crew/lamp')
    await waitFor(() => expect(dialog.getByLabelText('Title')).toHaveValue('Light it'))
    await userEvent.click(dialog.getByRole('button', { name: 'Create pull request' }))
    await waitFor(() => expect(sent).toEqual([expect.objectContaining({ repository: 'lamp' })]))
  })

  it('cannot be opened without a token, and say where to add one', async () => {
    openConversation({
      conversation: REPOSITORY,
      extra: [
        http.get('*/pull-requests/proposal', () =>
          problem(403, { code: 'no_git_credential', detail: 'There is no token for github.com.' }),
        ),
      ],
    })
    await userEvent.click(await tab())
    await userEvent.click(await screen.findByRole('button', { name: 'Create pull request' }))
    expect(await screen.findByText('There is no token for github.com.')).toBeVisible()
    expect(screen.getByRole('link', { name: 'Add a token' })).toHaveAttribute('href', '/settings/git-hosts')
  })

  it('hand comments and failing checks to the agent', async () => {
    const asked: string[] = []
    const known = [pullRequest()]
    openConversation({
      conversation: REPOSITORY,
      extra: [
        listed(known),
        http.post('*/pull-requests/p1/:about', ({ params }) => {
          asked.push(String(params.about))
          known[0] = pullRequest({ is_review_being_addressed: true })
          return HttpResponse.json({ message_id: 'm1', count: 2 })
        }),
      ],
    })
    await userEvent.click(await tab())
    await userEvent.click(await screen.findByRole('button', { name: 'Address 2 comments' }))
    expect(await screen.findByText('The agent addresses the review')).toBeVisible()
    await userEvent.click(screen.getByRole('button', { name: 'Fix the failing check' }))
    await waitFor(() => expect(asked).toEqual(['address-review', 'fix-checks']))
  })

  it('say why the host could not be asked, and offer nothing once merged', async () => {
    const merged = pullRequest({ state: 'merged', problem: 'github.com refuses the token.' })
    openConversation({ conversation: REPOSITORY, extra: [listed([merged])] })
    await userEvent.click(await tab())
    expect(await screen.findByText('Merged')).toBeVisible()
    expect(screen.getByText('The host could not be asked: github.com refuses the token.')).toBeVisible()
    expect(screen.queryByRole('button', { name: /Address/ })).toBeNull()
  })
})
