import { screen, waitFor, within } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { expect, test } from 'vitest'
import type { SaveTeamRepositories, TeamDetails, TeamRepositories } from '@/api/people/teams'
import type { Person } from '@/api/types'
import { fakeUser } from '@/test/factories'
import { problem } from '@/test/handlers'
import { renderApp } from '@/test/render-app'

const AT = '2026-01-01T10:00:00Z'
const GRACE: Person = {
  id: 'g1',
  name: 'Grace',
  role: 'member',
  created_at: AT,
  signed_in_at: null,
  has_totp: false,
  invitation_mail: null,
  is_service: false,
  disabled_at: null,
}

const BOT: Person = { ...GRACE, id: 'b1', name: 'Bot', is_service: true }

function fakeTeam(id: string, name: string): TeamDetails {
  return { id, name, created_at: AT, member_count: 0, is_member: false, members: [] }
}

const NO_REPOSITORIES: TeamRepositories = {
  repositories: [],
  members_see: 'none',
  members_only: false,
  may_change: true,
  may_restrict: true,
}

function routes(teams: TeamDetails[], repositories = NO_REPOSITORIES) {
  const find = (id: unknown) => teams.find((team) => team.id === id)!
  const change = (id: unknown, members: TeamDetails['members']) => {
    Object.assign(find(id), { members, member_count: members.length })
    return HttpResponse.json(find(id))
  }
  return [
    http.get('*/api/v1/people', () => HttpResponse.json([GRACE, BOT])),
    http.get('*/api/v1/teams', () => HttpResponse.json(teams)),
    http.get('*/api/v1/teams/:id', ({ params }) => HttpResponse.json(find(params.id))),
    http.post('*/api/v1/teams', async ({ request }) => {
      const { name } = (await request.json()) as { name: string }
      if (teams.some((team) => team.name === name)) {
        return problem(409, { code: 'team_name_taken', detail: 'There is a team of this name already.' })
      }
      teams.push(fakeTeam('t2', name))
      return HttpResponse.json(teams.at(-1), { status: 201 })
    }),
    http.get('*/api/v1/teams/:id/repositories', () => HttpResponse.json(repositories)),
    http.put('*/api/v1/teams/:id/repositories', async ({ request }) => {
      const saved = (await request.json()) as SaveTeamRepositories
      if (saved.repositories.includes('shop')) {
        return problem(400, { code: 'repository_name_wrong', detail: "'shop' names no repository." })
      }
      return HttpResponse.json(Object.assign(repositories, saved))
    }),
    http.put('*/api/v1/teams/:id/maintainers/g1', ({ params }) =>
      change(
        params.id,
        find(params.id).members.map((member) => ({ ...member, is_maintainer: true })),
      ),
    ),
    http.patch('*/api/v1/teams/:id', async ({ request, params }) =>
      HttpResponse.json(Object.assign(find(params.id), await request.json())),
    ),
    http.delete('*/api/v1/teams/:id', ({ params }) => {
      teams.splice(teams.indexOf(find(params.id)), 1)
      return new HttpResponse(null, { status: 204 })
    }),
    http.put('*/api/v1/teams/:id/members/g1', ({ params }) =>
      change(params.id, [
        {
          user_id: 'g1',
          name: 'Grace',
          provider: null,
          is_disabled: false,
          is_service: false,
          is_maintainer: false,
          created_at: AT,
        },
      ]),
    ),
    http.delete('*/api/v1/teams/:id/members/g1', ({ params }) => change(params.id, [])),
  ]
}

test('an owner creates a team, changes its members, renames it and deletes it', async () => {
  const repositories = { ...NO_REPOSITORIES }
  const { user } = renderApp({
    url: '/settings/teams',
    user: { ...fakeUser(), role: 'owner' },
    extra: routes([fakeTeam('t1', 'Apps')], repositories),
  })
  await user.type(await screen.findByLabelText('Name of the team'), 'Apps')
  await user.click(screen.getByRole('button', { name: 'Create a team' }))
  expect(await screen.findByText('There is a team of this name already.')).toBeVisible()
  await user.clear(screen.getByLabelText('Name of the team'))
  await user.type(screen.getByLabelText('Name of the team'), 'Core')
  await user.click(screen.getByRole('button', { name: 'Create a team' }))

  await user.click(await screen.findByRole('button', { name: /^Core/ }))
  expect(await screen.findByText('This team has no members.')).toBeVisible()
  expect(await screen.findByRole('option', { name: 'Bot (service account)' })).toBeInTheDocument()
  await user.selectOptions(screen.getByLabelText('Add a person to Core'), 'Grace')
  expect(await screen.findByText('1 member')).toBeVisible()
  const members = within(screen.getByRole('list', { name: 'Members of Core' }))
  await user.click(members.getByRole('button', { name: 'Make Grace a maintainer' }))
  expect(await members.findByText('Maintainer')).toBeVisible()
  expect(members.getByRole('button', { name: 'Remove Grace as maintainer' })).toBeVisible()

  const form = within(screen.getByRole('form', { name: 'Repositories of Core' }))
  await user.type(form.getByLabelText('Repositories of the team'), 'shop')
  await user.click(form.getByRole('button', { name: 'Save repositories' }))
  expect(await form.findByText("'shop' names no repository.")).toBeVisible()
  await user.clear(form.getByLabelText('Repositories of the team'))
  await user.click(form.getByLabelText('Repositories of the team'))
  await user.paste('github.com/acme/shop\ngithub.com/acme/pay-*')
  await user.selectOptions(form.getByRole('combobox'), 'View')
  await user.click(form.getByRole('checkbox'))
  await user.click(form.getByRole('button', { name: 'Save repositories' }))
  await waitFor(() => expect(form.getByRole('button', { name: 'Save repositories' })).toBeDisabled())
  expect(repositories).toMatchObject({
    repositories: ['github.com/acme/shop', 'github.com/acme/pay-*'],
    members_see: 'view',
    members_only: true,
  })

  await user.click(members.getByRole('button', { name: 'Remove Grace' }))
  expect(await screen.findByText('This team has no members.')).toBeVisible()

  await user.click(screen.getByRole('button', { name: 'Actions for Core' }))
  await user.click(await screen.findByRole('menuitem', { name: 'Rename' }))
  const dialog = within(await screen.findByRole('dialog'))
  await user.clear(dialog.getByLabelText('Name of the team'))
  await user.type(dialog.getByLabelText('Name of the team'), 'Kernel')
  await user.click(dialog.getByRole('button', { name: 'Rename' }))

  const actions = await screen.findByRole('button', { name: 'Actions for Kernel' })
  await waitFor(() => expect(actions).toHaveFocus())
  await user.click(actions)
  await user.click(await screen.findByRole('menuitem', { name: 'Delete team' }))
  await user.click(await screen.findByRole('button', { name: 'Delete team' }))
  expect(await screen.findByRole('button', { name: /^Apps/ })).toBeVisible()
  expect(screen.queryByRole('button', { name: /^Kernel/ })).toBeNull()
})

test('a member sees the people of a team and changes nothing', async () => {
  const team = fakeTeam('t1', 'Apps')
  team.is_member = true
  team.members = [
    {
      user_id: 'g1',
      name: 'Grace',
      provider: 'acme',
      is_disabled: false,
      is_service: false,
      is_maintainer: false,
      created_at: AT,
    },
  ]
  const { user } = renderApp({
    url: '/settings/teams',
    user: { ...fakeUser(), role: 'member' },
    extra: routes([team], {
      ...NO_REPOSITORIES,
      repositories: ['github.com/acme/pay-*'],
      members_see: 'steer',
      members_only: true,
      may_change: false,
      may_restrict: false,
    }),
  })
  await user.click(await screen.findByRole('button', { name: /^Apps/ }))
  expect(await screen.findByText('Grace')).toBeVisible()
  expect(screen.getByText('By acme')).toBeVisible()
  expect(await screen.findByText('github.com/acme/pay-*')).toBeVisible()
  expect(
    screen.getByText(
      'Members may view and steer new conversations on them. Only members may start conversations on them.',
    ),
  ).toBeVisible()
  expect(screen.queryByRole('button', { name: 'Save repositories' })).toBeNull()
  expect(screen.queryByRole('button', { name: 'Remove Grace' })).toBeNull()
  expect(screen.queryByLabelText('Name of the team')).toBeNull()
})
