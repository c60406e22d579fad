import { screen, waitFor, within } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { expect, test } from 'vitest'
import type { Person } from '@/api/types'
import { renderApp } from '@/test/render-app'
import { fakeConfig, fakeUser } from '@/test/factories'

const OWNER: Person = {
  ...fakeUser(),
  role: 'owner',
  created_at: '2026-01-01T10:00:00Z',
  signed_in_at: '2026-01-02T10:00:00Z',
  has_totp: false,
  invitation_mail: null,
  is_service: false,
  disabled_at: null,
}

const OWNER_OF_INSTALLATION = fakeUser({ id: OWNER.id })

function people(stored: Person[]) {
  const asked: unknown[] = []
  const extra = [
    http.get('*/api/v1/people', () => HttpResponse.json(stored)),
    http.post('*/api/v1/people', async ({ request }) => {
      const wanted = (await request.json()) as Pick<Person, 'name' | 'role'>
      const person = { ...OWNER, ...wanted, id: 'p2', signed_in_at: null }
      stored.push(person)
      asked.push(wanted)
      const link = { url: 'http://localhost/sign-in#token=abc', expires_at: '2026-01-03T10:00:00Z' }
      return HttpResponse.json({ person, sign_in_link: link }, { status: 201 })
    }),
    http.patch('*/api/v1/people/p2', async ({ request }) => {
      const wanted = (await request.json()) as { role?: Person['role']; is_disabled?: boolean }
      asked.push(wanted)
      const person = stored.find(({ id }) => id === 'p2')!
      if (wanted.role) person.role = wanted.role
      if (wanted.is_disabled !== undefined) person.disabled_at = wanted.is_disabled ? OWNER.created_at : null
      return HttpResponse.json(person)
    }),
  ]
  return { extra, asked }
}

test('an owner invites a person, hands over the link, changes the role and disables the account', async () => {
  const { extra, asked } = people([OWNER])
  const { user } = renderApp({ url: '/settings/people', user: OWNER, extra })

  await user.click(await screen.findByRole('button', { name: 'Create an account' }))
  expect(screen.getByText("Enter the person's name.")).toBeVisible()
  expect(screen.queryByLabelText('E-mail address')).toBeNull()
  await user.type(screen.getByLabelText('Name'), 'Ada')
  await user.selectOptions(screen.getByLabelText('Role'), 'Viewer')
  expect(screen.getByText(/Viewers can read/)).toBeVisible()
  await user.click(screen.getByRole('button', { name: 'Create an account' }))

  const dialog = await screen.findByRole('dialog', { name: 'Send this link to Ada' })
  expect(within(dialog).getByLabelText('Sign-in link')).toHaveValue('http://localhost/sign-in#token=abc')
  await user.click(within(dialog).getByRole('button', { name: 'Done' }))
  await user.selectOptions(await screen.findByLabelText('Role of Ada'), 'Member')
  await user.click(await screen.findByRole('button', { name: 'Disable Ada' }))

  expect(await screen.findByRole('button', { name: 'Enable Ada' })).toBeVisible()
  expect(screen.queryByRole('button', { name: 'New sign-in link for Ada' })).toBeNull()
  expect(asked).toEqual([{ name: 'Ada', role: 'viewer' }, { role: 'member' }, { is_disabled: true }])
})

test('an invitation is sent by e-mail, and its failure is shown beside the person', async () => {
  const stored = [OWNER]
  const asked: unknown[] = []
  const mail = { address: 'ada@harbour.dev', sent_at: null, link_expires_at: null }
  const error = 'The mail server answered 550: There is no such person.'
  const extra = [
    http.get('*/api/v1/people', () => HttpResponse.json(stored)),
    http.post('*/api/v1/people', async ({ request }) => {
      asked.push(await request.json())
      const invitation_mail = { ...mail, state: 'failed' as const, error }
      const person: Person = { ...OWNER, id: 'p2', name: 'Ada', role: 'member', invitation_mail }
      stored.push(person)
      return HttpResponse.json({ person, sign_in_link: null }, { status: 201 })
    }),
  ]
  extra.push(
    http.post('*/api/v1/people/p2/invitation-mail', () => {
      const person = stored[1]!
      person.invitation_mail = { ...mail, state: 'sent', error: null }
      return HttpResponse.json(person, { status: 202 })
    }),
  )
  const config = fakeConfig({ sends_mail: true })
  const { user } = renderApp({ url: '/settings/people', user: OWNER, config, extra })

  await user.type(await screen.findByLabelText('Name'), 'Ada')
  const address = await screen.findByLabelText('E-mail address')
  await user.type(address, 'ada')
  await user.click(screen.getByRole('button', { name: 'Create an account' }))
  expect(await screen.findByText('Enter one e-mail address.')).toBeVisible()
  await user.type(address, '@harbour.dev')
  await user.click(screen.getByRole('button', { name: 'Create an account' }))

  expect(await screen.findByText(new RegExp(`ada@harbour.dev was not sent.*${error}`))).toBeVisible()
  expect(screen.queryByRole('dialog')).toBeNull()
  expect(asked).toEqual([{ name: 'Ada', role: 'member', email: 'ada@harbour.dev' }])
  await user.click(screen.getByRole('button', { name: 'Send invitation again to Ada. Earlier links end.' }))
  expect(await screen.findByText(/The invitation is sent to ada@harbour.dev/)).toBeVisible()
})

test('an admin cannot change the owner, and gives no role as high as their own', async () => {
  const { extra } = people([OWNER])
  renderApp({ url: '/settings/people', user: { ...OWNER, id: 'me', role: 'admin' }, extra })

  expect(await screen.findByText(/Owner · Signed in/)).toBeVisible()
  expect(screen.queryByLabelText(`Role of ${OWNER.name}`)).toBeNull()
  const roles = within(screen.getByLabelText('Role')).getAllByRole('option')
  expect(roles.map(({ textContent }) => textContent)).toEqual(['Member', 'Viewer'])
})

test('a member is told who can see the people', async () => {
  const { extra } = people([OWNER])
  renderApp({ url: '/settings/people', user: { ...OWNER, role: 'member' }, extra })

  expect(await screen.findByText(/Only the owner and admins/)).toBeVisible()
})

test('an owner removes the authenticator app of a person who has lost it', async () => {
  const ada: Person = { ...OWNER, id: 'p2', name: 'Ada', role: 'member', has_totp: true }
  const { extra } = people([OWNER, ada])
  const reset = http.delete('*/api/v1/people/p2/totp', () => {
    ada.has_totp = false
    return new HttpResponse(null, { status: 204 })
  })
  const { user } = renderApp({ url: '/settings/people', user: OWNER, extra: [reset, ...extra] })

  await user.click(await screen.findByRole('button', { name: 'Remove the authenticator app of Ada' }))
  const dialog = await screen.findByRole('dialog')
  await user.click(within(dialog).getByRole('button', { name: 'Remove the authenticator app' }))
  expect(await screen.findByText('The authenticator app of Ada is removed')).toBeVisible()
  expect(screen.queryByRole('button', { name: /Remove the authenticator app of Ada/ })).toBeNull()
})

test('an owner deletes a person after choosing what becomes of everything', async () => {
  const disabled_at = '2026-01-02T00:00:00Z'
  const ada: Person = { ...OWNER, id: 'p2', name: 'Ada', role: 'member', disabled_at }
  const { extra } = people([OWNER, ada])
  const counts = { profiles: 0, shared_profiles: 0, callbacks: 1, triggers: 0, starting: 0, secrets: 2 }
  const none = { git_credentials: 0, mcp_servers: 0, notes: 0, sandbox_specs: 0, api_keys: 0 }
  const bodies: unknown[] = []
  const routes = [
    http.get('*/api/v1/people/p2/belongings', () =>
      HttpResponse.json({ conversations: 3, ...counts, ...none }),
    ),
    http.post('*/api/v1/people/p2/deletion', async ({ request }) => {
      bodies.push(await request.json())
      ada.deleting_at = disabled_at
      return HttpResponse.json(ada, { status: 202 })
    }),
  ]
  const { user } = renderApp({ url: '/settings/people', user: OWNER, extra: [...routes, ...extra] })

  await user.click(await screen.findByRole('button', { name: 'Delete Ada' }))
  const dialog = within(await screen.findByRole('dialog', { name: 'Delete Ada?' }))
  const confirm = await dialog.findByRole('button', { name: 'Delete the account' })
  expect(dialog.getByText('Also deleted, with all other settings: 2 secrets.')).toBeVisible()
  expect(dialog.queryByLabelText(/model profile/)).toBeNull()
  await user.selectOptions(dialog.getByLabelText('3 conversations, with their sandboxes'), 'Hand over')
  await user.selectOptions(dialog.getByLabelText('1 webhook'), 'Delete')
  expect(confirm).toBeDisabled()
  await user.selectOptions(dialog.getByLabelText('Hand over to'), OWNER.name)
  await user.click(confirm)
  expect(await screen.findByText('Ada is being deleted')).toBeVisible()
  expect(await screen.findByText('Being deleted')).toBeVisible()
  expect(bodies).toEqual([
    {
      conversations: 'hand_over',
      profiles: 'delete',
      callbacks: 'delete',
      triggers: 'delete',
      heir_id: OWNER.id,
    },
  ])
  expect(screen.queryByRole('button', { name: 'Delete Ada' })).toBeNull()
})

test('an owner makes a service account and a key for it', async () => {
  const robot: Person = { ...OWNER, id: 'p3', name: 'Pipeline', role: 'member', is_service: true }
  const { extra } = people([OWNER, robot])
  const root = '*/api/v1/people/service-accounts'
  const bodies: unknown[] = []
  const routes = [
    http.post(root, async ({ request }) => {
      bodies.push(await request.json())
      return HttpResponse.json(robot, { status: 201 })
    }),
    http.get(`${root}/p3/keys`, () => HttpResponse.json([])),
    http.post(`${root}/p3/keys`, async ({ request }) => {
      bodies.push(await request.json())
      return HttpResponse.json({ id: 'k1', name: 'ci', key: 'slw_secret' }, { status: 201 })
    }),
  ]
  const { user } = renderApp({ url: '/settings/people', user: OWNER, extra: [...routes, ...extra] })

  await user.type(await screen.findByLabelText('Name'), 'Pipeline')
  await user.click(screen.getByRole('checkbox', { name: /service account/ }))
  await user.click(screen.getByRole('button', { name: 'Create an account' }))
  expect(await screen.findByText('Service account')).toBeVisible()
  expect(screen.queryByRole('button', { name: 'New sign-in link for Pipeline' })).toBeNull()
  await user.click(screen.getByRole('button', { name: 'Keys of Pipeline' }))
  const dialog = within(await screen.findByRole('dialog', { name: 'Keys of Pipeline' }))
  await user.type(dialog.getByLabelText('Name'), 'ci')
  await user.click(dialog.getByRole('button', { name: 'Create a key' }))
  expect(await dialog.findByDisplayValue('slw_secret')).toBeVisible()
  expect(bodies).toEqual([
    { name: 'Pipeline', role: 'member' },
    { name: 'ci', scopes: ['read', 'work'], expires_in_days: 90 },
  ])
})

test('the owner of the installation creates an organisation with its owner, and moves a person there', async () => {
  const grace: Person = { ...OWNER, id: 'p9', name: 'Grace', role: 'member' }
  const { extra } = people([OWNER, grace])
  const asked: unknown[] = []
  const organisation = {
    id: 'o1',
    name: 'Default',
    is_default: true,
    person_count: 2,
    created_at: OWNER.created_at,
  }
  const stored = [organisation]
  extra.push(
    http.get('*/api/v1/organisations', () => HttpResponse.json(stored)),
    http.post('*/api/v1/organisations', async ({ request }) => {
      const { name } = (await request.json()) as { name: string }
      stored.push({ ...organisation, id: 'o2', name, is_default: false, person_count: 1 })
      return HttpResponse.json(stored[1], { status: 201 })
    }),
    http.post('*/api/v1/organisations/o2/people', async ({ request }) => {
      asked.push(await request.json())
      const link = { url: 'http://localhost/sign-in#token=abc', expires_at: OWNER.created_at }
      return HttpResponse.json({ person: grace, sign_in_link: link }, { status: 201 })
    }),
    http.put('*/api/v1/organisations/o2/people/p9', async ({ request }) => {
      asked.push(await request.json())
      return HttpResponse.json(grace)
    }),
  )
  const { user } = renderApp({ url: '/settings/people', user: OWNER_OF_INSTALLATION, extra })

  await user.click(await screen.findByText('Organisations'))
  await user.type(screen.getByLabelText('Name of the organisation'), 'Acme')
  await user.type(screen.getByLabelText('Its owner'), 'Olga')
  await user.click(screen.getByRole('button', { name: 'Create an organisation' }))
  const dialog = await screen.findByRole('dialog', { name: 'Send this link to Olga' })
  await user.click(within(dialog).getByRole('button', { name: 'Done' }))

  await user.selectOptions(await screen.findByLabelText('Person'), 'Grace')
  await user.selectOptions(screen.getByLabelText('Move to'), 'Acme')
  await user.click(screen.getByRole('button', { name: 'Move' }))
  const question = await screen.findByRole('dialog', { name: 'Move Grace to Acme?' })
  await user.click(within(question).getByRole('button', { name: 'Move' }))
  await waitFor(() => expect(asked).toEqual([{ name: 'Olga', role: 'owner' }, { role: 'member' }]))
})

test('an owner of another organisation sees no organisations', async () => {
  const { extra } = people([OWNER])
  const me = { ...OWNER_OF_INSTALLATION, administers_installation: false }
  renderApp({ url: '/settings/people', user: me, extra })
  expect(await screen.findByRole('button', { name: 'Create an account' })).toBeVisible()
  expect(screen.queryByText('Organisations')).toBeNull()
})
