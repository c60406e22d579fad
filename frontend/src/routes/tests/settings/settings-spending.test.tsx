import { screen, waitFor } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { expect, test } from 'vitest'
import { fakeSpendingLimit, fakeUserLimit } from '@/test/model-factories'
import { fakeUser } from '@/test/factories'
import { renderApp } from '@/test/render-app'

test('a spending limit is set for a period', async () => {
  const sent: unknown[] = []
  const { user } = renderApp({
    url: '/settings/models',
    extra: [
      http.put('*/api/v1/settings/spending-limit', async ({ request }) => {
        sent.push(await request.json())
        return HttpResponse.json(fakeSpendingLimit({ limit: 20, period: 'day', spent: 5 }))
      }),
    ],
  })
  expect(await screen.findByText('$1.25 spent this month.')).toBeVisible()
  await user.type(screen.getByLabelText('Limit, in US dollars'), '20')
  await user.selectOptions(screen.getByLabelText('Per'), 'day')
  await user.click(screen.getByRole('button', { name: 'Save' }))
  expect(await screen.findByText('$5.00 of $20.00 spent today.')).toBeVisible()
  expect(sent).toEqual([{ limit: 20, period: 'day' }])
})

test('what an administrator has set is told beside the limit of one’s own', async () => {
  const administered = { limit: 30, period: 'month', spent: 12, began_at: '2026-11-01T00:00:00Z' } as const
  renderApp({
    url: '/settings/models',
    user: fakeUser({ role: 'member' }),
    extra: [
      http.get('*/api/v1/settings/spending-limit', () =>
        HttpResponse.json(fakeSpendingLimit({ administered })),
      ),
    ],
  })
  const told =
    'Your administrator allows you $30.00 per month, of which $12.00 is spent. The lower limit counts.'
  expect(await screen.findByText(told)).toBeVisible()
  expect(screen.queryByText('Spending limits of all users')).not.toBeInTheDocument()
})

test('an administrator limits everybody, and one user differently', async () => {
  const sent: unknown[] = []
  const ada = fakeUserLimit({ name: 'Ada', limit: 50, spent: 5 })
  let users = [ada]
  const { user } = renderApp({
    url: '/settings/models',
    user: fakeUser({ role: 'admin' }),
    extra: [
      http.get('*/api/v1/administration/spending-limits', () =>
        HttpResponse.json({ default: { limit: 50, period: 'month' }, users }),
      ),
      http.put('*/api/v1/administration/spending-limits/*', async ({ request }) => {
        const body = (await request.json()) as { limit: number }
        sent.push([new URL(request.url).pathname.split('/').at(-1), body])
        users = [{ ...ada, limit: body.limit, follows_default: false }]
        return HttpResponse.json(users[0])
      }),
      http.delete('*/api/v1/administration/spending-limits/users/u1', () => {
        users = [ada]
        return HttpResponse.json(ada)
      }),
    ],
  })
  const everybody = await screen.findByLabelText('Default limit, in US dollars')
  expect(everybody).toHaveValue('50')
  await user.click(screen.getByText('$5.00 of $50.00 spent this month. Default limit.'))
  const amount = screen.getByLabelText('Limit for Ada, in US dollars')
  await user.clear(amount)
  await user.type(amount, '80')
  await user.click(screen.getByRole('button', { name: 'Set for Ada' }))
  expect(
    await screen.findByText('$5.00 of $80.00 spent this month. Has a separate limit.'),
  ).toBeInTheDocument()
  expect(sent).toEqual([['u1', { limit: 80, period: 'month' }]])

  await user.click(screen.getByText('$5.00 of $80.00 spent this month. Has a separate limit.'))
  await user.click(screen.getByRole('button', { name: 'Use default limit' }))
  expect(await screen.findByText(/this month\. Default limit\.$/)).toBeInTheDocument()

  await user.clear(everybody)
  await user.click(screen.getByRole('button', { name: 'Set default limit' }))
  await waitFor(() => expect(sent.at(-1)).toEqual(['default', { limit: null, period: 'month' }]))
})
