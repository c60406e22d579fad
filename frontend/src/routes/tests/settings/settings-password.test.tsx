import { screen, waitFor, within } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { expect, test } from 'vitest'
import type { PasswordSettings } from '@/api/people/passwords'
import { problem } from '@/test/handlers'
import { fakePasswordSettings } from '@/test/password-settings'
import { renderApp } from '@/test/render-app'

const CODES = ['aaaa-bbbb-cccc-dddd', 'eeee-ffff-gggg-hhhh']
const WITH_PASSWORD = { login_name: 'ada', changed_at: '2026-11-01T08:00:00Z' }
const WITH_APP = { ...WITH_PASSWORD, totp_since: '2026-11-02T08:00:00Z', recovery_codes_left: 9 }

function openWith(overrides: Partial<PasswordSettings>) {
  let stored = fakePasswordSettings(overrides)
  const asked: Record<string, unknown>[] = []
  const change = (path: string, changed: Partial<PasswordSettings>, answer?: object) =>
    http.post(`*/api/v1${path}`, async ({ request }) => {
      const body = (await request.json()) as Record<string, unknown>
      asked.push(body)
      if (body.code === '000000') {
        return problem(403, { code: 'totp_code_wrong', detail: 'This code is wrong.' })
      }
      stored = { ...stored, ...changed }
      return answer ? HttpResponse.json(answer) : new HttpResponse(null, { status: 204 })
    })
  const app = renderApp({
    url: '/settings/browsers',
    extra: [
      http.get('*/api/v1/web-sessions', () => HttpResponse.json([])),
      http.get('*/api/v1/password', () => HttpResponse.json(stored)),
      http.put('*/api/v1/password', async ({ request }) => {
        asked.push((await request.json()) as Record<string, unknown>)
        stored = { ...stored, ...WITH_PASSWORD }
        return new HttpResponse(null, { status: 204 })
      }),
      change('/password/removal', { login_name: null, changed_at: null }),
      change('/totp', {}, { secret: 'JBSWY3DP', uri: 'otpauth://totp/x', qr_svg: '<svg></svg>' }),
      change('/totp/confirmation', WITH_APP, { codes: CODES }),
      change('/totp/recovery-codes', { recovery_codes_left: 10 }, { codes: CODES }),
      change('/totp/removal', { totp_since: null, recovery_codes_left: 0 }),
    ],
  })
  return { ...app, asked }
}

const section = () => screen.findByRole('region', { name: 'Password' })

test('a first password is set with the suggested login name, and can be shown', async () => {
  const { user, asked } = openWith({})
  expect(await screen.findByText('Not set')).toBeVisible()
  expect(within(await section()).queryByText('Authenticator app')).toBeNull()
  await user.click(screen.getByRole('button', { name: 'Set a password' }))
  const dialog = await screen.findByRole('dialog')
  expect(within(dialog).queryByLabelText('Current password')).toBeNull()
  await user.type(within(dialog).getByLabelText('New password'), 'purple walrus')
  await user.click(within(dialog).getByLabelText('Show the password'))
  expect(within(dialog).getByLabelText('New password')).toHaveAttribute('type', 'text')
  await user.click(within(dialog).getByRole('button', { name: 'Set a password' }))
  expect(await screen.findByText('Your password is saved')).toBeVisible()
  expect(await screen.findByText(/Login name ada · Changed/)).toBeVisible()
  expect(asked).toEqual([{ login_name: 'ada.lovelace', password: 'purple walrus' }])
})

test('a change and a removal ask for the current password', async () => {
  const { user, asked } = openWith(WITH_PASSWORD)
  await user.click(await screen.findByRole('button', { name: 'Change the password' }))
  const change = await screen.findByRole('dialog', { name: 'Change your password' })
  await user.type(within(change).getByLabelText('New password'), 'green teapot')
  const save = within(change).getByRole('button', { name: 'Change the password' })
  expect(save).toBeDisabled()
  await user.type(within(change).getByLabelText('Current password'), 'purple walrus')
  await user.click(save)
  await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull())
  await user.click(screen.getByRole('button', { name: 'Remove the password' }))
  const removal = await screen.findByRole('dialog', { name: 'Remove your password?' })
  await user.type(within(removal).getByLabelText('Current password'), 'green teapot')
  await user.click(within(removal).getByRole('button', { name: 'Remove the password' }))
  expect(await screen.findByText('Not set')).toBeVisible()
  expect(asked).toEqual([
    { login_name: 'ada', password: 'green teapot', current_password: 'purple walrus' },
    { current_password: 'green teapot' },
  ])
})

test('an authenticator app is added: password, picture and secret, a first code, recovery codes', async () => {
  const { user } = openWith(WITH_PASSWORD)
  await user.click(await screen.findByRole('button', { name: 'Add an app' }))
  await user.type(await screen.findByLabelText('Current password'), 'purple walrus')
  await user.click(screen.getByRole('button', { name: 'Next' }))
  expect(await screen.findByRole('img', { name: /QR code/ })).toHaveAttribute(
    'src',
    'data:image/svg+xml,%3Csvg%3E%3C%2Fsvg%3E',
  )
  expect(screen.getByLabelText('Secret for the authenticator app')).toHaveValue('JBSWY3DP')
  await user.type(screen.getByLabelText('Code'), '000000')
  await user.click(screen.getByRole('button', { name: 'Confirm' }))
  expect(await screen.findByText('This code is wrong.')).toBeVisible()
  await user.clear(screen.getByLabelText('Code'))
  await user.type(screen.getByLabelText('Code'), '123456')
  await user.click(screen.getByRole('button', { name: 'Confirm' }))
  const codes = await screen.findByRole('list', { name: 'Recovery codes' })
  expect(
    within(codes)
      .getAllByRole('listitem')
      .map((item) => item.textContent),
  ).toEqual(CODES)
  await user.click(screen.getByRole('button', { name: 'Done' }))
  expect(await screen.findByText(/9 recovery codes left/)).toBeVisible()
})

test('recovery codes are renewed and the app is removed by a code', async () => {
  const { user, asked } = openWith(WITH_APP)
  await user.click(await screen.findByRole('button', { name: 'New recovery codes' }))
  const renewal = await screen.findByRole('dialog')
  await user.type(within(renewal).getByLabelText('Code'), '123456')
  await user.click(within(renewal).getByRole('button', { name: 'New recovery codes' }))
  await user.click(await screen.findByRole('button', { name: 'Done' }))
  expect(await screen.findByText(/10 recovery codes left/)).toBeVisible()
  await user.click(screen.getByRole('button', { name: 'Remove the app' }))
  const removal = await screen.findByRole('dialog')
  await user.type(within(removal).getByLabelText('Code'), CODES[0]!)
  await user.click(within(removal).getByRole('button', { name: 'Remove the app' }))
  expect(await screen.findByText('The authenticator app is removed')).toBeVisible()
  expect(asked).toEqual([{ code: '123456' }, { code: CODES[0] }])
})

test('where passwords are turned off, only one that was set before can be removed', async () => {
  openWith({ ...WITH_PASSWORD, is_offered: false })
  expect(await screen.findByText(/turned off here/)).toBeVisible()
  expect(screen.queryByRole('button', { name: 'Change the password' })).toBeNull()
  expect(screen.getByRole('button', { name: 'Remove the password' })).toBeVisible()
})
