import { screen, waitFor, within } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { expect, test } from 'vitest'
import type { RetentionSetting } from '@/api/automation/retention'
import { fakeUser } from '@/test/factories'
import { renderApp } from '@/test/render-app'

const PATH = '*/api/v1/administration/conversation-retention'

test('the rule shows what it would do, and deletes only after it was confirmed', async () => {
  const saved: RetentionSetting[] = []
  const { user } = renderApp({
    url: '/settings/retention',
    extra: [
      http.get(PATH, () => HttpResponse.json({ days: null, action: 'archive', kept_tags: [] })),
      http.post(`${PATH}/preview`, async ({ request }) => {
        const { days } = (await request.json()) as RetentionSetting
        return HttpResponse.json({ count: days === 90 ? 12 : 1 })
      }),
      http.put(PATH, async ({ request }) => {
        saved.push((await request.json()) as RetentionSetting)
        return HttpResponse.json(saved.at(-1))
      }),
    ],
  })
  const days = await screen.findByLabelText('Days without activity')
  expect(screen.getByText('All conversations are kept.')).toBeVisible()
  await user.type(days, '0')
  expect(days).toBeInvalid()
  expect(screen.getByRole('button', { name: 'Save' })).toBeDisabled()
  await user.clear(days)
  await user.type(days, '90')
  expect(await screen.findByText('This would archive 12 conversations now.')).toBeVisible()
  await user.type(screen.getByLabelText('Keep conversations with one of these tags'), 'keep, team: blue')
  await user.selectOptions(screen.getByLabelText('Then'), 'Delete the conversation and its files')
  expect(await screen.findByText('This would delete 12 conversations now.')).toBeVisible()

  await user.click(screen.getByRole('button', { name: 'Save' }))
  expect(saved).toEqual([])
  await user.click(within(await screen.findByRole('dialog')).getByRole('button', { name: 'Save and delete' }))
  await waitFor(() =>
    expect(saved).toEqual([{ days: 90, action: 'delete', kept_tags: ['keep', 'team:blue'] }]),
  )
})

test('only administrators see the rule', async () => {
  renderApp({ url: '/settings/retention', user: fakeUser({ role: 'member' }) })
  expect(
    await screen.findByText('Only administrators of the installation set the retention rule.'),
  ).toBeVisible()
})
