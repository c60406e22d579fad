import { screen, within } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { expect, test } from 'vitest'
import type { AdministeredValue, EffectiveSetting } from '@/api/people/levels'
import { fakeProfile } from '@/test/model-factories'
import { fakeUser } from '@/test/factories'
import { problem } from '@/test/handlers'
import { renderApp } from '@/test/render-app'

const VALUE: AdministeredValue = {
  name: 'confirmation_mode',
  level: 'organisation',
  team_id: null,
  team_name: null,
  value: 'risky',
  enforced: false,
  user_id: null,
  user_name: null,
  set_by: 'Ada',
  updated_at: '2026-01-01T10:00:00Z',
  overriding_teams: ['Core'],
  overriding_people: 2,
}
const EFFECTIVE: EffectiveSetting = {
  name: 'confirmation_mode',
  value: 'always',
  level: 'team',
  team_name: 'Core',
  enforced: true,
  overridden: [
    { level: 'user', team_id: null, team_name: null, value: 'never', enforced: false },
    { level: 'organisation', team_id: null, team_name: null, value: 'risky', enforced: false },
  ],
}
const OWNER = { ...fakeUser(), role: 'owner' as const }

function routes(sent: unknown[] = []) {
  return [
    http.get('*/api/v1/settings/levels', () => HttpResponse.json([EFFECTIVE])),
    http.get('*/api/v1/administration/settings', () => HttpResponse.json([VALUE])),
    http.get('*/api/v1/people', () => HttpResponse.json([fakeUser({ id: 'u1', name: 'Grace' })])),
    http.get('*/api/v1/teams', () =>
      HttpResponse.json([
        { id: 't1', name: 'Core', created_at: VALUE.updated_at, member_count: 1, is_member: false },
      ]),
    ),
    http.put('*/api/v1/administration/settings/*', async ({ request }) => {
      sent.push([new URL(request.url).pathname.split('/settings/')[1], await request.json()])
      return HttpResponse.json({})
    }),
    http.delete('*/api/v1/administration/settings/*', ({ request }) => {
      sent.push(new URL(request.url).pathname.split('/settings/')[1])
      return new HttpResponse(null, { status: 204 })
    }),
  ]
}

test('an owner sees who overrides a value, enforces it and removes it', async () => {
  const sent: unknown[] = []
  const { user } = renderApp({ url: '/settings/organisation', user: OWNER, extra: routes(sent) })
  expect(await screen.findByText('Ask when risky · set by Ada')).toBeVisible()
  expect(screen.getByText('Overridden by teams: Core')).toBeVisible()
  expect(screen.getByText('Overridden by 2 people')).toBeVisible()
  await user.click(screen.getByRole('button', { name: 'Change Confirmation' }))
  await user.selectOptions(screen.getByLabelText('Confirmation'), 'Ask every time')
  await user.click(screen.getByLabelText('Enforce: lower levels cannot change it'))
  await user.click(screen.getByRole('button', { name: 'Save' }))
  await user.click(await screen.findByRole('button', { name: 'Remove Confirmation' }))
  await user.click(screen.getByRole('button', { name: 'Change Submodules' }))
  await user.selectOptions(screen.getByLabelText('Submodules'), 'Leave them out')
  await user.click(screen.getByRole('button', { name: 'Save' }))
  expect(sent).toEqual([
    ['organisation/confirmation_mode', { value: 'always', enforced: true }],
    'organisation/confirmation_mode',
    ['organisation/submodules', { value: false, enforced: false }],
  ])
})

test('the model of a team is one of the shared models and is always enforced', async () => {
  const sent: unknown[] = []
  const { user } = renderApp({
    url: '/settings/organisation',
    user: OWNER,
    profiles: [fakeProfile({ name: 'own' }), fakeProfile({ name: 'ours', is_shared: true })],
    extra: routes(sent),
  })
  const team = await screen.findByRole('option', { name: 'Team Core' })
  await user.selectOptions(screen.getByLabelText('Settings for'), team)
  await user.click(await screen.findByRole('button', { name: 'Change Model' }))
  const model = await screen.findByLabelText('Model')
  expect(within(model).queryByRole('option', { name: 'own' })).toBeNull()
  await user.selectOptions(model, await within(model).findByRole('option', { name: 'ours' }))
  expect(screen.queryByRole('checkbox')).toBeNull()
  await user.click(screen.getByRole('button', { name: 'Save' }))
  expect(sent).toEqual([['teams/t1/llm_profile', { value: 'ours', enforced: true }]])
})

test('a person has quotas alone, and a reached limit says when it frees', async () => {
  const sent: unknown[] = []
  const { user } = renderApp({
    url: '/settings/organisation',
    user: OWNER,
    extra: routes(sent),
  })
  const grace = await screen.findByRole('option', { name: 'Grace (quotas)' })
  await user.selectOptions(screen.getByLabelText('Settings for'), grace)
  expect(screen.queryByRole('button', { name: 'Change Confirmation' })).toBeNull()
  expect(screen.queryByText('Running sandboxes of everyone together')).toBeNull()
  await user.click(
    await screen.findByRole('button', { name: 'Change Conversations that one person starts in an hour' }),
  )
  await user.type(screen.getByLabelText('Conversations that one person starts in an hour'), '3')
  await user.click(screen.getByRole('button', { name: 'Save' }))
  expect(sent).toEqual([['people/u1/starts_per_hour', { value: 3, enforced: false }]])
})

test('a number is checked before it is sent, and a refusal is shown', async () => {
  const refusal = problem(404, { code: 'team_not_found', detail: 'There is no such team.' })
  const { user } = renderApp({
    url: '/settings/organisation',
    user: OWNER,
    extra: [http.put('*/api/v1/administration/settings/*', () => refusal), ...routes()],
  })
  await user.click(await screen.findByRole('button', { name: 'Change Steps of a run' }))
  await user.type(screen.getByLabelText('Steps of a run'), '1.5')
  expect(screen.getByText('Enter a number above zero.')).toBeVisible()
  expect(screen.getByRole('button', { name: 'Save' })).toBeDisabled()
  await user.clear(screen.getByLabelText('Steps of a run'))
  await user.type(screen.getByLabelText('Steps of a run'), '20')
  await user.click(screen.getByRole('button', { name: 'Save' }))
  expect(await screen.findByText('There is no such team.')).toBeVisible()
})

test('a member sees what holds and why, and changes nothing for others', async () => {
  renderApp({
    url: '/settings/organisation',
    user: { ...fakeUser(), role: 'member' },
    extra: routes(),
  })
  const holds = await screen.findByRole('region', { name: 'Your effective settings' })
  expect(await within(holds).findByText('Team Core')).toBeVisible()
  expect(within(holds).getByText('Enforced')).toBeVisible()
  expect(within(holds).getByText('Overrides your setting: Run freely in the sandbox')).toBeVisible()
  expect(screen.queryByRole('button', { name: /^Change / })).toBeNull()
})

test('the page of an enforced setting is locked and says who has set it', async () => {
  renderApp({ url: '/settings/confirmation', extra: routes() })
  expect(await screen.findByText('Confirmation: Ask every time, set by the team Core')).toBeVisible()
  expect(screen.getByText('You cannot change it. Ask the owner or an admin.')).toBeVisible()
  expect(await screen.findByRole('radio', { name: 'Run freely in the sandbox' })).toBeDisabled()
})
