import { screen, waitFor } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { expect, test } from 'vitest'
import { renderApp } from '@/test/render-app'

test('what clones fetch is chosen, taken back, and locked while it is enforced', async () => {
  const sent: unknown[] = []
  const own = { level: 'user', team_name: null, enforced: false }
  const clone: Record<string, unknown> = { ...own, name: 'clone', value: 'blobless' }
  clone.overridden = [{ level: 'organisation', value: 'shallow', enforced: false }]
  const submodules = {
    ...own,
    name: 'submodules',
    value: false,
    level: 'team',
    enforced: true,
    overridden: [],
  }
  const { user } = renderApp({
    url: '/settings/git-hosts',
    extra: [
      http.get('*/api/v1/settings/levels', () => HttpResponse.json([clone, submodules])),
      http.post('*/api/v1/settings', async ({ request }) => {
        sent.push(await request.json())
        return HttpResponse.json({ message: 'Settings stored' })
      }),
    ],
  })
  const history = await screen.findByLabelText('History to fetch')
  expect(history).toHaveDisplayValue('All commits, files on demand')
  await user.selectOptions(history, 'Default: Newest commit of each branch')
  await waitFor(() => expect(sent).toEqual([{ clone: null }]))
  const locked = screen.getByLabelText('Submodules')
  expect(locked).toBeDisabled()
  expect(locked).toHaveDisplayValue('Default: Leave them out')
})
