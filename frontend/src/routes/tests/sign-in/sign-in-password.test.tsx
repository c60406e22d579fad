import { screen } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { expect, test } from 'vitest'
import { proofSubprotocols } from '@/api/page-proof'
import { fakeConfig, fakeUser } from '@/test/factories'
import { handlers, problem } from '@/test/handlers'
import { renderApp } from '@/test/render-app'
import { server } from '@/test/server'

const ENDPOINT = '*/api/v1/sign-in/password'

/** Answers the sign-ins one after the other: with a refusal, or with success for null. */
function answering(...refusals: ((() => Response) | null)[]) {
  const asked: unknown[] = []
  const handler = http.post(ENDPOINT, async ({ request }) => {
    asked.push(await request.json())
    const refuse = refusals[asked.length - 1]
    if (refuse) return refuse()
    server.use(...handlers())
    return HttpResponse.json({ ...fakeUser(), page_proof: 'proof-of-the-page' })
  })
  return { asked, handler }
}

async function typePassword(user: ReturnType<typeof renderApp>['user'], password = 'purple walrus') {
  await user.type(await screen.findByLabelText('Login name'), 'ada')
  await user.type(screen.getByLabelText('Password'), password)
  await user.click(screen.getByRole('button', { name: 'Sign in' }))
}

test('a login name and a password sign in', async () => {
  const { asked, handler } = answering(null)
  const { user } = renderApp({ url: '/sign-in', user: null, extra: [handler] })
  expect(await screen.findByRole('button', { name: 'Sign in' })).toBeDisabled()
  await typePassword(user)
  expect(await screen.findByRole('heading', { name: 'What should be done?' })).toBeVisible()
  expect(asked).toEqual([{ login_name: 'ada', password: 'purple walrus' }])
  expect(proofSubprotocols()).toContain('slipway.proof.proof-of-the-page')
})

test('a refusal is explained where it was caused, and the password can be typed again', async () => {
  const throttled = () => problem(429, { code: 'sign_in_throttled', detail: 'Try again in 30 seconds.' })
  const wrong = () => problem(401, { code: 'login_refused', detail: 'The password is wrong.' })
  const { handler } = answering(wrong, throttled)
  const { user, router } = renderApp({ url: '/sign-in', user: null, extra: [handler] })
  await typePassword(user)
  expect(await screen.findByRole('alert')).toHaveTextContent('The password is wrong.')
  await user.click(screen.getByRole('button', { name: 'Sign in' }))
  expect(await screen.findByText('Try again in 30 seconds.')).toBeVisible()
  expect(router.state.location.pathname).toBe('/sign-in')
})

test('the code of an authenticator app is the second step', async () => {
  const needed = () => problem(401, { code: 'totp_code_needed', detail: 'Enter the code.' })
  const wrong = () => problem(401, { code: 'totp_code_wrong', detail: 'This code is wrong.' })
  const { asked, handler } = answering(needed, wrong, null)
  const { user } = renderApp({ url: '/sign-in', user: null, extra: [handler] })
  await typePassword(user)
  const code = await screen.findByLabelText('Code')
  expect(code).toHaveFocus()
  expect(screen.queryByRole('alert')).toBeNull()
  await user.type(code, '000000{Enter}')
  expect(await screen.findByRole('alert')).toHaveTextContent('This code is wrong.')
  expect(code).toHaveValue('')
  await user.type(code, '123456{Enter}')
  expect(await screen.findByRole('heading', { name: 'What should be done?' })).toBeVisible()
  expect(asked.at(-1)).toEqual({ login_name: 'ada', password: 'purple walrus', code: '123456' })
})

test('one can go back from the code to another account', async () => {
  const { handler } = answering(() => problem(401, { code: 'totp_code_needed', detail: 'Enter the code.' }))
  const { user } = renderApp({ url: '/sign-in', user: null, extra: [handler] })
  await typePassword(user)
  await user.click(await screen.findByRole('button', { name: 'Back' }))
  expect(screen.getByLabelText('Password')).toHaveValue('')
})

test('where passwords are turned off there is no such form', async () => {
  renderApp({ url: '/sign-in', user: null, config: fakeConfig({ password_sign_in: false }) })
  expect(await screen.findByText(/terminal prints a link/)).toBeVisible()
  expect(screen.queryByLabelText('Password')).toBeNull()
})

test('an invited person is offered a password after the link, and need not set one', async () => {
  const saved: unknown[] = []
  const { user } = renderApp({
    url: '/sign-in#token=once-only',
    user: null,
    extra: [
      http.post('*/api/v1/sign-in/link', () => {
        server.use(
          http.put('*/api/v1/password', async ({ request }) => {
            saved.push(await request.json())
            return saved.length === 1
              ? problem(400, { code: 'password_too_short', detail: 'A password has at least 12 characters.' })
              : new HttpResponse(null, { status: 204 })
          }),
          ...handlers(),
        )
        return HttpResponse.json({ ...fakeUser(), page_proof: 'proof', may_choose_password: true })
      }),
    ],
  })
  expect(await screen.findByText(/You are signed in/)).toBeVisible()
  expect(screen.getByRole('button', { name: 'Not now' })).toBeEnabled()
  expect(await screen.findByDisplayValue('ada.lovelace')).toBeVisible()
  await user.type(screen.getByLabelText('New password'), 'short')
  await user.click(screen.getByRole('button', { name: 'Set a password' }))
  expect(await screen.findByText('A password has at least 12 characters.')).toBeVisible()
  await user.type(screen.getByLabelText('New password'), ' and long enough')
  await user.click(screen.getByRole('button', { name: 'Set a password' }))
  expect(await screen.findByRole('heading', { name: 'What should be done?' })).toBeVisible()
  expect(saved.at(-1)).toEqual({ login_name: 'ada.lovelace', password: 'short and long enough' })
})
