import { screen, waitFor, within } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { describe, expect, it } from 'vitest'
import type { SandboxSpec } from '@/api/sandboxes/sandbox-specs'
import { fakeSandboxSpec } from '@/test/factories'
import { problem } from '@/test/handlers'
import { renderApp } from '@/test/render-app'

const FOUND = {
  base: 'slipway-base:0123456789ab',
  repository: 'github.com/ada/engine',
  path: '.devcontainer/devcontainer.json',
  dockerfile: 'FROM debian:bookworm-slim\nRUN make',
  files: 3,
  bytes: 100,
  ignored: ['postCreateCommand (what prepares a project belongs into .agents/setup.sh)'],
}

function openImages({ specs = [] as SandboxSpec[], mayChoose = true } = {}) {
  const known = [fakeSandboxSpec(), ...specs]
  const sent: unknown[] = []
  const settings = {
    sandbox_spec_id: 'default',
    repositories: [] as { repository: string; sandbox_spec_id: string }[],
    may_choose: mayChoose,
    enforced_by: null,
    team_name: null,
    reason: mayChoose ? null : 'Only admins may choose what sandboxes are built on.',
  }
  const app = renderApp({
    url: '/settings/sandbox-images',
    extra: [
      http.get('*/api/v1/sandbox-specs/search', () =>
        HttpResponse.json({ items: known, next_page_id: null }),
      ),
      http.get('*/api/v1/settings/sandbox-spec', () => HttpResponse.json(settings)),
      http.put('*/api/v1/settings/sandbox-spec', async ({ request }) => {
        const body = (await request.json()) as { repository: string | null; sandbox_spec_id: string }
        sent.push(body)
        if (body.repository === null) settings.sandbox_spec_id = body.sandbox_spec_id
        else settings.repositories.push({ ...body, repository: body.repository })
        return HttpResponse.json(settings)
      }),
      http.post('*/api/v1/sandbox-specs/from-repository', async ({ request }) => {
        const { path } = (await request.json()) as { path: string | null }
        return path === 'nowhere'
          ? problem(400, { code: 'devcontainer_missing', detail: 'The repository has no nowhere.' })
          : HttpResponse.json(FOUND)
      }),
      http.post('*/api/v1/sandbox-specs', async ({ request }) => {
        const body = (await request.json()) as { name: string }
        sent.push(body)
        known.push(fakeSandboxSpec({ id: 'new', name: body.name, base: 'python:3.12' }))
        return HttpResponse.json(known.at(-1), { status: 201 })
      }),
    ],
  })
  return { ...app, sent }
}

describe('the sandbox images', () => {
  it('offer no more than was left ticked', async () => {
    const row = fakeSandboxSpec({ id: 'lean', name: 'Lean', runtime_plugins: ['vscode'] })
    const { user, sent } = openImages({ specs: [row] })
    await user.type(await screen.findByLabelText('Name'), 'Python')
    const add = screen.getByRole('region', { name: 'Add an image' })
    await user.type(within(add).getByLabelText('Image'), 'python:3.12')
    for (const name of ['Desktop', 'Jupyter']) await user.click(within(add).getByLabelText(name))
    await user.click(within(add).getByRole('button', { name: 'Add an image' }))

    const runtime_plugins = ['vscode', 'browser']
    await waitFor(() => expect(sent).toEqual([{ name: 'Python', image: 'python:3.12', runtime_plugins }]))
    expect(within(add).getByLabelText('Desktop')).toBeChecked()
    expect(screen.getByText('Offered in its sandboxes: VS Code')).toBeInTheDocument()
  })

  it('are added by name and chosen for all and for a repository', async () => {
    const { user, sent } = openImages()
    await user.type(await screen.findByLabelText('Name'), 'Python')
    const add = screen.getByRole('region', { name: 'Add an image' })
    await user.type(within(add).getByLabelText('Image'), 'python:3.12')
    await user.click(within(add).getByRole('button', { name: 'Add an image' }))
    await waitFor(() => expect(sent).toEqual([{ name: 'Python', image: 'python:3.12' }]))

    await screen.findByRole('region', { name: 'Your images' })
    await user.selectOptions(screen.getByLabelText('Image of new conversations'), 'Python')
    await user.type(screen.getByLabelText('Repository'), 'ada/engine')
    await user.click(screen.getByRole('button', { name: 'Use for it' }))
    await waitFor(() =>
      expect(sent.slice(1)).toEqual([
        { repository: null, sandbox_spec_id: 'new' },
        { repository: 'ada/engine', sandbox_spec_id: 'new' },
      ]),
    )
    expect(await screen.findByRole('button', { name: 'Forget the image of ada/engine' })).toBeVisible()
  })

  it('of a repository are seen before they are allowed', async () => {
    const { user, sent } = openImages()
    await user.click(await screen.findByRole('radio', { name: 'Repository' }))
    await user.type(screen.getByLabelText('Name'), 'Engine')
    await user.type(screen.getByLabelText('Repository'), 'ada/engine')
    await user.type(screen.getByLabelText('devcontainer.json or Dockerfile'), 'nowhere')
    await user.click(screen.getByRole('button', { name: 'Look at it' }))
    expect(await screen.findByText('The repository has no nowhere.')).toBeVisible()
    await user.clear(screen.getByLabelText('devcontainer.json or Dockerfile'))
    await user.click(screen.getByRole('button', { name: 'Look at it' }))
    expect(await screen.findByText(/^postCreateCommand/)).toBeVisible()
    expect(screen.getByText(/RUN make/)).toBeVisible()
    await user.click(screen.getByRole('button', { name: 'Allow this and add it' }))
    await waitFor(() =>
      expect(sent).toEqual([
        {
          name: 'Engine',
          repository: { selected_repository: 'ada/engine', selected_branch: null, path: null },
          base: FOUND.base,
        },
      ]),
    )
  })

  it('are the server’s alone where one may not choose', async () => {
    openImages({ mayChoose: false })
    expect(await screen.findByText('Only admins may choose what sandboxes are built on.')).toBeVisible()
    expect(screen.queryByRole('button', { name: 'Add an image' })).toBeNull()
  })

  it('can be chosen for one task', async () => {
    const sent: unknown[] = []
    const { user } = renderApp({
      url: '/',
      extra: [
        http.get('*/api/v1/sandbox-specs/search', () =>
          HttpResponse.json({
            items: [fakeSandboxSpec(), fakeSandboxSpec({ id: 'go', name: 'Go' })],
            next_page_id: null,
          }),
        ),
        http.post('*/api/v1/app-conversations', async ({ request }) => {
          sent.push(((await request.json()) as { sandbox_spec_id: string }).sandbox_spec_id)
          return problem(503, { code: 'unavailable', detail: 'Not now.' })
        }),
      ],
    })
    await user.type(await screen.findByLabelText('Task'), 'Look around')
    await user.selectOptions(await screen.findByLabelText('Sandbox image'), 'Go')
    await user.click(screen.getByRole('button', { name: /^Start/ }))
    await waitFor(() => expect(sent).toEqual(['go']))
  })
})
