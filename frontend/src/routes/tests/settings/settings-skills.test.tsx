import { screen, waitFor, within } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { expect, test } from 'vitest'
import type { CatalogueSkill, InstalledSkill, SkillChoice } from '@/api/agents/skill-catalogue'
import { renderApp } from '@/test/render-app'

const KNOTS: InstalledSkill = {
  id: 'a1',
  name: 'knots',
  description: 'Ties knots.',
  marketplace: 'ours',
  source: 'https://git.acme.dev/ours.git',
  ref: null,
  path: 'knots/SKILL.md',
  commit: '0123456789abcdef',
  other_files: 2,
  is_for_everyone: false,
  installed_at: '2026-11-27T10:00:00Z',
  updated_at: '2026-11-27T10:00:00Z',
  has_update: true,
  checked_at: '2026-11-27T10:00:00Z',
  check_problem: 'git took too long.',
}

test('a skill is searched, installed, read, switched off in a repository, updated and removed', async () => {
  const wanted: unknown[] = []
  let installed: InstalledSkill[] = []
  let choices: SkillChoice[] = []
  const { user } = renderApp({
    url: '/settings/skills',
    extra: [
      http.get('*/api/v1/skills/catalogue', ({ request }) => {
        const offered: CatalogueSkill = {
          name: 'knots',
          description: 'Ties knots.',
          marketplace: 'ours',
          scope: 'personal',
          path: 'knots/SKILL.md',
          is_installed: installed.length > 0,
          is_installed_for_everyone: false,
          has_update: installed[0]?.has_update ?? false,
        }
        const isFound = 'knots'.includes(new URL(request.url).searchParams.get('query') ?? '')
        return HttpResponse.json({ items: isFound ? [offered] : [], next_page_id: null })
      }),
      http.get('*/api/v1/skills/catalogue/repositories', () =>
        HttpResponse.json([
          {
            marketplace: 'ours',
            scope: 'personal',
            read_at: null,
            skill_count: 1,
            problems: ['x is a link.'],
          },
        ]),
      ),
      http.get('*/api/v1/skills/installed', () => HttpResponse.json(installed)),
      http.get('*/api/v1/skills/installed/a1', () =>
        HttpResponse.json({ ...KNOTS, text: 'A bowline holds.' }),
      ),
      http.post('*/api/v1/skills/installed', async ({ request }) => {
        wanted.push(await request.json())
        installed = [KNOTS]
        return HttpResponse.json(KNOTS, { status: 201 })
      }),
      http.post('*/api/v1/skills/installed/a1/update', () => {
        installed = [{ ...KNOTS, has_update: false, check_problem: null }]
        return HttpResponse.json({ ...installed[0], is_changed: true })
      }),
      http.delete('*/api/v1/skills/installed/a1', () => {
        installed = []
        return new HttpResponse(null, { status: 204 })
      }),
      http.get('*/api/v1/skills/loading', ({ request }) => {
        const repository = new URL(request.url).searchParams.get('repository')
        const isOff = choices.some((choice) => choice.repository === repository)
        return HttpResponse.json(
          installed.map(({ name }) => ({
            name,
            origin: 'user',
            path: 'user/installed/knots/SKILL.md',
            is_loaded: !isOff,
            reason: isOff ? `You have switched it off in ${repository}.` : 'It is listed by its description.',
          })),
        )
      }),
      http.get('*/api/v1/skills/choices', () => HttpResponse.json(choices)),
      http.put('*/api/v1/skills/choices', async ({ request }) => {
        const choice = (await request.json()) as SkillChoice & { is_enabled: boolean | null }
        choices = choice.is_enabled === null ? [] : [choice]
        return HttpResponse.json(choices)
      }),
    ],
  })
  expect(await screen.findByText('No skills yet')).toBeVisible()
  expect(await screen.findByText('ours has not been read yet.')).toBeVisible()
  expect(screen.getByText('x is a link.')).toBeVisible()
  const search = screen.getByRole('searchbox', { name: 'Search the catalogue' })
  await user.type(search, 'sails')
  expect(await screen.findByText('No skill in the catalogue has these words.')).toBeVisible()
  await user.clear(search)
  await user.click(await screen.findByRole('button', { name: 'Install knots from ours' }))
  expect(wanted).toEqual([{ name: 'knots', marketplace: 'ours', is_for_everyone: false }])

  const known = screen.getByRole('region', { name: 'Skills of new conversations' })
  expect(await within(known).findByText('It is listed by its description.')).toBeVisible()
  expect(within(known).getByText('2 other files of it are not delivered to agents.')).toBeVisible()
  expect(within(known).getByText(/Commit 0123456789$/)).toBeVisible()
  expect(await screen.findAllByText('Update available')).toHaveLength(2)
  expect(within(known).getByText('The last check for updates failed. git took too long.')).toBeVisible()
  await user.click(screen.getByRole('button', { name: 'Show the text of knots' }))
  expect(await screen.findByText('A bowline holds.')).toBeVisible()
  await user.keyboard('{Escape}')

  await user.type(screen.getByRole('textbox', { name: 'In a repository' }), 'acme/api{Enter}')
  await user.click(await screen.findByRole('button', { name: 'Switch off knots' }))
  expect(await screen.findByText('You have switched it off in acme/api.')).toBeVisible()
  await user.click(
    await screen.findByRole('button', { name: 'Remove the choice about knots: Off in acme/api' }),
  )
  expect(await within(known).findByText('Loaded')).toBeVisible()

  await user.click(screen.getByRole('button', { name: 'Update knots' }))
  expect(await screen.findByText('knots is up to date.')).toBeVisible()
  await waitFor(() => expect(screen.queryByText('Update available')).not.toBeInTheDocument())
  await user.click(screen.getByRole('button', { name: 'Remove knots' }))
  await user.click(await screen.findByRole('button', { name: 'Remove' }))
  await waitFor(() => expect(screen.getByText('No skills yet')).toBeVisible())
})
