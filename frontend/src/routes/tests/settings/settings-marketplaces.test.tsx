import { screen, waitFor } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { expect, test } from 'vitest'
import type { Marketplace } from '@/api/agents/marketplaces'
import { renderApp } from '@/test/render-app'

const SHARED: Marketplace = {
  name: 'ours',
  source: 'https://git.acme.dev/ours.git',
  ref: 'v2',
  repo_path: 'market',
  auto_load: true,
  scope: 'instance',
}

test('a marketplace is added, looked at, loaded by default and removed', async () => {
  let own: unknown[] = []
  const { user } = renderApp({
    url: '/settings/marketplaces',
    extra: [
      http.get('*/api/v1/settings', () =>
        HttpResponse.json({ registered_marketplaces: own, inherited_marketplaces: [SHARED] }),
      ),
      http.post('*/api/v1/settings', async ({ request }) => {
        own = ((await request.json()) as { registered_marketplaces: unknown[] }).registered_marketplaces
        return HttpResponse.json({ message: 'The settings are saved.' })
      }),
      http.post('*/api/v1/skills/marketplace-skills', () =>
        HttpResponse.json({
          plugins: [{ name: 'sea', description: 'All about the sea.', source: 'x', marketplace: 'acme' }],
          skills: [{ name: 'knots', type: 'agentskills', source: 'public/acme/skills/knots/SKILL.md' }],
          marketplace_skills: { acme: ['knots'] },
          errors: ['acme: the plugin out lies outside of the repository.'],
        }),
      ),
    ],
  })
  expect(await screen.findByText('https://git.acme.dev/ours.git · v2 · market')).toBeVisible()
  await user.click(screen.getByRole('button', { name: 'Add a marketplace' }))
  expect(await screen.findByText('Use letters, digits, dots, dashes and underscores.')).toBeVisible()
  await user.type(screen.getByRole('textbox', { name: 'Name' }), 'acme')
  await user.type(screen.getByRole('textbox', { name: 'Repository' }), 'github:acme/skills')
  await user.click(screen.getByRole('button', { name: 'Add a marketplace' }))
  const added = { name: 'acme', source: 'github:acme/skills', ref: null, repo_path: null }
  await waitFor(() => expect(own).toEqual([{ ...added, auto_load: false }]))

  await user.click(await screen.findByRole('button', { name: 'Show contents of acme' }))
  expect(await screen.findByText('All about the sea.')).toBeVisible()
  expect(screen.getByText('knots')).toBeVisible()
  expect(screen.getByText('acme: the plugin out lies outside of the repository.')).toBeVisible()

  await user.click(screen.getByRole('button', { name: 'Load acme by default' }))
  await waitFor(() => expect(own).toEqual([{ ...added, auto_load: true }]))
  await user.click(await screen.findByRole('button', { name: 'Remove acme' }))
  await user.click(await screen.findByRole('button', { name: 'Remove' }))
  await waitFor(() => expect(own).toEqual([]))
})
