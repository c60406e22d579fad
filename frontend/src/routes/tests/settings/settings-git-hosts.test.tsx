import { screen, waitFor, within } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { expect, test } from 'vitest'
import type { GitCredential } from '@/api/git/git-credentials'
import { problem } from '@/test/handlers'
import { renderApp } from '@/test/render-app'

test('a token is saved, its pushes are limited, and it is deleted; it is not kept in the page', async () => {
  const sent: unknown[] = []
  const stored: GitCredential[] = []
  const { user } = renderApp({
    url: '/settings/git-hosts',
    extra: [
      http.get('*/api/v1/settings/git-credentials', () => HttpResponse.json(stored)),
      http.post('*/api/v1/settings/git-credentials', async ({ request }) => {
        sent.push(await request.json())
        stored.push({
          id: 'c1',
          host: 'github.com',
          provider: 'github',
          has_stated_provider: true,
          api_url: null,
          username: null,
          push_scope: 'own',
          updated_at: '2026-11-22T08:00:00Z',
          is_signed_in: false,
          needs_reconnect: false,
          certificate_authorities: null,
        })
        return HttpResponse.json(stored[0], { status: 201 })
      }),
      http.get('*/api/v1/users/git-info', () =>
        HttpResponse.json({
          id: '7',
          login: 'ada',
          avatar_url: '',
          rate_limit: { limit: 5000, remaining: 4987, resets_at: null },
        }),
      ),
      http.patch('*/api/v1/settings/git-credentials/c1', async ({ request }) => {
        const body = (await request.json()) as Partial<GitCredential>
        sent.push(body)
        stored[0] = { ...stored[0]!, ...body }
        return HttpResponse.json(stored[0])
      }),
      http.delete('*/api/v1/settings/git-credentials/c1', () => {
        stored.length = 0
        return new HttpResponse(null, { status: 204 })
      }),
    ],
  })
  expect(await screen.findByText('No tokens')).toBeVisible()
  await user.selectOptions(screen.getByLabelText('Kind of host'), 'GitLab')
  expect(screen.getByLabelText('Host')).toHaveValue('gitlab.com')
  await user.selectOptions(screen.getByLabelText('Kind of host'), 'GitHub')
  await user.clear(screen.getByLabelText('Host'))
  await user.type(screen.getByLabelText('Host'), 'https://github.com/octocat')
  await user.type(screen.getByLabelText('Token'), 'abc')
  await user.click(screen.getByRole('button', { name: 'Save the token' }))
  expect(await screen.findByText('At least 4 characters.')).toBeVisible()
  expect(screen.getByText(/Enter only the host/)).toBeVisible()
  expect(sent).toEqual([])

  await user.clear(screen.getByLabelText('Host'))
  await user.type(screen.getByLabelText('Host'), 'github.com')
  await user.type(screen.getByLabelText('Token'), 'd-token')
  await user.click(screen.getByRole('button', { name: 'Save the token' }))
  const scope = await screen.findByLabelText('What agents may push to at github.com')
  const added = { provider: 'github', host: 'github.com', token: 'abcd-token', api_url: null }
  expect(sent).toEqual([{ ...added, username: '', push_scope: 'own', certificate_authorities: null }])
  expect(screen.queryByRole('button', { name: /Certificate authorities/ })).toBeNull()
  expect(await screen.findByText('GitHub · connected as ada · 4987 of 5000 calls left')).toBeVisible()
  await waitFor(() => expect(screen.getByLabelText('Token')).toHaveValue(''))

  await user.selectOptions(scope, 'Any branch')
  await waitFor(() => expect(sent.at(-1)).toEqual({ push_scope: 'any' }))
  await user.click(screen.getByRole('button', { name: 'Delete the token for github.com' }))
  await user.click(await screen.findByRole('button', { name: 'Delete token' }))
  expect(await screen.findByText('No tokens')).toBeVisible()
})

test('a self-hosted host that is not trusted gets the certificates of its authority', async () => {
  const pem = '-----BEGIN CERTIFICATE-----'
  const sent: unknown[] = []
  let stored: GitCredential = {
    id: 'c1',
    host: 'git.example.org',
    provider: 'gitlab',
    has_stated_provider: true,
    api_url: null,
    username: null,
    push_scope: 'own',
    updated_at: '2026-11-22T08:00:00Z',
    is_signed_in: false,
    needs_reconnect: false,
    certificate_authorities: null,
  }
  const { user } = renderApp({
    url: '/settings/git-hosts',
    extra: [
      http.get('*/api/v1/settings/git-credentials', () => HttpResponse.json([stored])),
      http.post('*/api/v1/settings/git-credentials', async ({ request }) => {
        sent.push(await request.json())
        return HttpResponse.json(stored, { status: 201 })
      }),
      http.patch('*/api/v1/settings/git-credentials/c1', async ({ request }) => {
        const body = (await request.json()) as Partial<GitCredential>
        sent.push(body)
        stored = { ...stored, ...body, updated_at: '2026-11-22T09:00:00Z' }
        return HttpResponse.json(stored)
      }),
      http.get('*/api/v1/users/git-info', () =>
        stored.certificate_authorities
          ? HttpResponse.json({ id: '7', login: 'ada', avatar_url: '', rate_limit: null })
          : problem(502, {
              code: 'git_host_untrusted',
              detail: 'The certificate of git.example.org is not trusted.',
              fix: 'Paste the certificate of that authority.',
            }),
      ),
    ],
  })
  expect(await screen.findByText(/is not trusted\. Paste the certificate/)).toBeVisible()
  const opener = screen.getByRole('button', { name: 'Certificate authorities of git.example.org' })
  await user.click(opener)
  const dialog = await screen.findByRole('dialog')
  const field = within(dialog).getByLabelText('Certificate authorities')
  const saveAuthorities = within(dialog).getByRole('button', { name: 'Save authorities' })
  await user.type(field, 'authority.pem')
  await user.click(saveAuthorities)
  expect(await within(dialog).findByText(/Paste certificates in PEM form/)).toBeVisible()
  expect(sent).toEqual([])
  await user.clear(field)
  await user.type(field, pem)
  await user.click(saveAuthorities)
  expect(await screen.findByText(/connected as ada/)).toBeVisible()
  expect(screen.getByText('Private authority')).toBeVisible()
  await waitFor(() => expect(opener).toHaveFocus())
  expect(sent).toEqual([{ certificate_authorities: pem }])

  expect(screen.queryByLabelText('Certificate authorities')).toBeNull()
  await user.clear(screen.getByLabelText('Host'))
  await user.type(screen.getByLabelText('Host'), 'git.example.org')
  await user.type(screen.getByLabelText('Token'), 'abcd-token')
  await user.type(screen.getByLabelText('Certificate authorities'), pem)
  await user.click(screen.getByRole('button', { name: 'Save the token' }))
  await waitFor(() =>
    expect(sent.at(-1)).toMatchObject({ host: 'git.example.org', certificate_authorities: pem }),
  )
})

test('the name in commits is shown, changed and checked', async () => {
  const sent: unknown[] = []
  const stored = {
    git_user_name: 'Ada',
    git_user_email: null as string | null,
    commit_trailer: 'none',
    commit_trailers: { 'github.com/octo/app': 'none' } as Record<string, string>,
  }
  const { user } = renderApp({
    url: '/settings/git-hosts',
    extra: [
      http.get('*/api/v1/settings/git-credentials', () => HttpResponse.json([])),
      http.get('*/api/v1/settings', () => HttpResponse.json({ ...stored, language: null })),
      http.post('*/api/v1/settings', async ({ request }) => {
        const body = (await request.json()) as typeof stored
        sent.push(body)
        Object.assign(stored, body)
        return HttpResponse.json({ message: 'The settings are saved.' })
      }),
    ],
  })
  const section = within(await screen.findByRole('region', { name: 'Commits' }))
  const name = await section.findByLabelText('Name')
  expect(name).toHaveValue('Ada')
  const email = section.getByLabelText('E-mail')

  await user.type(email, 'ada@<acme>')
  await user.click(section.getByRole('button', { name: 'Save' }))
  expect(await section.findByText('An address has no blanks and no angle brackets.')).toBeVisible()
  await user.clear(email)
  await user.type(email, 'ada@acme.dev')
  await user.click(section.getByRole('button', { name: 'Save' }))

  const identity = { git_user_name: 'Ada', git_user_email: 'ada@acme.dev', commit_trailer: 'none' }
  await waitFor(() => expect(sent).toEqual([identity]))

  await user.type(section.getByLabelText('Repository'), 'https://git.acme.dev/team/api')
  await user.selectOptions(section.getByLabelText('Last line there'), 'Assisted-by: Slipway')
  await user.click(section.getByRole('button', { name: 'Add' }))
  const added = { 'github.com/octo/app': 'none', 'https://git.acme.dev/team/api': 'assisted_by' }
  await waitFor(() => expect(sent.at(-1)).toEqual({ commit_trailers: added }))
  await user.click(await section.findByRole('button', { name: 'Remove github.com/octo/app' }))
  const left = { 'https://git.acme.dev/team/api': 'assisted_by' }
  await waitFor(() => expect(sent.at(-1)).toEqual({ commit_trailers: left }))
})

test('signing of commits needs an address, shows the key for the host, and gets a new key', async () => {
  const key = (name: string) => ({
    is_on: true,
    public_key: `ssh-ed25519 ${name}`,
    fingerprint: `SHA256:${name}`,
    created_at: '2026-11-27T08:00:00Z',
  })
  let hasAddress = false
  let mayAdd = false
  const { user } = renderApp({
    url: '/settings/git-hosts',
    extra: [
      http.put('*/api/v1/settings/commit-signing', async ({ request }) => {
        const { is_on } = (await request.json()) as { is_on: boolean }
        if (!hasAddress)
          return problem(409, { code: 'commit_identity_missing', detail: 'There is no e-mail address.' })
        return HttpResponse.json({ ...key('first'), is_on })
      }),
      http.post('*/api/v1/settings/commit-signing/new-key', () => HttpResponse.json(key('second'))),
      http.get('*/api/v1/settings/git-credentials', () =>
        HttpResponse.json([{ id: 'c1', host: 'github.com', provider: 'github', push_scope: 'own' }]),
      ),
      http.get('*/api/v1/users/git-info', () => HttpResponse.json({ id: '7', login: 'ada', avatar_url: '' })),
      http.get('*/api/v1/settings', () =>
        HttpResponse.json({ git_user_name: 'Ada', git_user_email: 'ada@example.org', commit_trailers: {} }),
      ),
      http.get('*/api/v1/settings/commit-signing/hosts/address', ({ request }) => {
        expect(new URL(request.url).searchParams.get('host')).toBe('github.com')
        return HttpResponse.json({ address: 'ada@example.org', is_verified: false })
      }),
      http.post('*/api/v1/settings/commit-signing/hosts', async ({ request }) => {
        expect(await request.json()).toEqual({ host: 'github.com' })
        return mayAdd
          ? HttpResponse.json({ is_new: true })
          : problem(403, { code: 'git_host_forbidden', detail: 'github.com does not allow this.' })
      }),
    ],
  })
  const section = within(await screen.findByRole('region', { name: 'Signed commits' }))
  expect(await section.findByText('Commits are not signed')).toBeVisible()
  await user.click(section.getByRole('button', { name: 'Turn on' }))
  expect(await section.findByText('There is no e-mail address.')).toBeVisible()
  hasAddress = true
  await user.click(section.getByRole('button', { name: 'Turn on' }))
  expect(await section.findByText('ssh-ed25519 first')).toBeVisible()
  const page = section.getByRole('link', { name: 'Your keys at github.com' })
  expect(page).toHaveAttribute('href', 'https://github.com/settings/ssh/new')
  expect(await section.findByText(/ada@example.org is not a verified address of your account/)).toBeVisible()
  const addresses = section.getByRole('link', { name: 'Your addresses at github.com' })
  expect(addresses).toHaveAttribute('href', 'https://github.com/settings/emails')
  await user.click(section.getByRole('button', { name: 'Add to github.com' }))
  expect(await section.findByText('github.com does not allow this.')).toBeVisible()
  mayAdd = true
  await user.click(section.getByRole('button', { name: 'Add to github.com' }))
  expect(await section.findByText('github.com has the key now.')).toBeVisible()
  await user.click(section.getByRole('button', { name: 'New key' }))
  const dialog = within(await screen.findByRole('dialog', { name: 'Replace the signing key?' }))
  await user.click(dialog.getByRole('button', { name: 'New key' }))
  expect(await section.findByText('SHA256:second')).toBeVisible()
  await user.click(section.getByRole('button', { name: 'Turn off' }))
  expect(await section.findByText('Commits are not signed')).toBeVisible()
})
