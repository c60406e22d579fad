import { screen } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { expect, test } from 'vitest'
import type { Device } from '@/api/people/devices'
import { fakeUser } from '@/test/factories'
import { handlers, problem } from '@/test/handlers'
import { renderApp } from '@/test/render-app'
import { server } from '@/test/server'

const FIND = '*/api/v1/device-sign-ins/find'
const ANSWER = '*/api/v1/device-sign-ins/answer'

function fakeDevice(overrides: Partial<Device> = {}): Device {
  return {
    name: 'slipway on ada-laptop',
    address: '192.0.2.7',
    scopes: ['read', 'work'],
    missing_scopes: [],
    expires_in_days: 90,
    created_at: '2026-11-27T08:00:00Z',
    expires_at: '2026-11-27T08:10:00Z',
    ...overrides,
  }
}

test('a code in the address is looked up, and the user allows what is shown', async () => {
  const sent: unknown[] = []
  const { user } = renderApp({
    url: '/device?user_code=BCDF-GHJK',
    extra: [
      http.post(FIND, async ({ request }) => {
        sent.push(await request.json())
        return HttpResponse.json(fakeDevice())
      }),
      http.post(ANSWER, async ({ request }) => {
        sent.push(await request.json())
        return new HttpResponse(null, { status: 204 })
      }),
    ],
  })
  expect(await screen.findByText('slipway on ada-laptop')).toBeVisible()
  expect(screen.getByText('192.0.2.7')).toBeVisible()
  expect(sent.at(-1)).toEqual({ user_code: 'BCDF-GHJK' })
  await user.click(screen.getByRole('button', { name: 'Allow' }))
  expect(await screen.findByText('The terminal is signed in')).toBeVisible()
  expect(sent.at(-1)).toEqual({ user_code: 'BCDF-GHJK', is_allowed: true })
})

test('a wrong code says so, and another one can be typed and refused', async () => {
  let isKnown = false
  const { user } = renderApp({
    url: '/device',
    extra: [
      http.post(FIND, () =>
        isKnown
          ? HttpResponse.json(fakeDevice())
          : problem(404, { code: 'device_code_not_found', detail: 'There is no such code.' }),
      ),
      http.post(ANSWER, () => new HttpResponse(null, { status: 204 })),
    ],
  })
  await user.type(await screen.findByLabelText('Code'), 'wrong')
  await user.click(screen.getByRole('button', { name: 'Continue' }))
  expect(await screen.findByRole('alert')).toHaveTextContent('There is no such code.')
  isKnown = true
  await user.click(screen.getByRole('button', { name: 'Continue' }))
  await user.click(await screen.findByRole('button', { name: 'Refuse' }))
  expect(await screen.findByText('The sign-in is refused')).toBeVisible()
})

test('rights that the user lacks cannot be given', async () => {
  renderApp({
    url: '/device?user_code=BCDF-GHJK',
    extra: [
      http.post(FIND, () =>
        HttpResponse.json(fakeDevice({ scopes: ['read', 'administer'], missing_scopes: ['administer'] })),
      ),
    ],
  })
  expect(await screen.findByRole('alert')).toHaveTextContent('You do not have these rights yourself')
  expect(screen.getByRole('button', { name: 'Allow' })).toBeDisabled()
})

test('a sign-in leads back to the code', async () => {
  const { user } = renderApp({
    url: '/device?user_code=BCDF-GHJK',
    user: null,
    extra: [
      http.post(FIND, () => HttpResponse.json(fakeDevice())),
      http.post('*/api/v1/sign-in/password', () => {
        server.use(...handlers())
        return HttpResponse.json({ ...fakeUser(), page_proof: 'proof-of-the-page' })
      }),
    ],
  })
  await user.type(await screen.findByLabelText('Login name'), 'ada')
  await user.type(screen.getByLabelText('Password'), 'correct horse battery')
  await user.click(screen.getByRole('button', { name: 'Sign in' }))
  expect(await screen.findByText('slipway on ada-laptop')).toBeVisible()
})
