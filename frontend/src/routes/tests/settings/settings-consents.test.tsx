import { screen, within } from '@testing-library/react'
import { http, HttpResponse } from 'msw'
import { expect, test } from 'vitest'
import type { Consent } from '@/api/approval/executables'
import { fakeConsent } from '@/test/agent-factories'
import { renderApp } from '@/test/render-app'
import { server } from '@/test/server'

function openConsents(consents: Consent[]) {
  const stored = [...consents]
  return renderApp({
    url: '/settings/consents',
    extra: [
      http.get('*/api/v1/consents', () => HttpResponse.json(stored)),
      http.delete('*/api/v1/consents/:id', ({ params }) => {
        stored.splice(
          stored.findIndex(({ id }) => id === params.id),
          1,
        )
        return new HttpResponse(null, { status: 204 })
      }),
    ],
  })
}

test('answers are listed by repository, with what they were given for', async () => {
  const { user } = openConsents([fakeConsent(), fakeConsent({ repository: '/srv/app', decision: 'refused' })])
  const engine = await screen.findByRole('region', { name: 'github.com/ada/engine' })
  expect(within(engine).getByText('Allowed')).toBeVisible()
  await user.click(within(engine).getByText('Show .openhands/setup.sh'))
  expect(within(engine).getByText('make install')).toBeVisible()
  expect(within(screen.getByRole('region', { name: '/srv/app' })).getByText('Refused')).toBeVisible()
})

test('an answer is taken back', async () => {
  const { user } = openConsents([fakeConsent()])
  await user.click(await screen.findByRole('button', { name: /^Withdraw the decision about Set-up script/ }))
  expect(await screen.findByText('Nothing allowed yet')).toBeVisible()
})

test('what got no answer is done again with one click, where that is harmless', async () => {
  const { user } = openConsents([fakeConsent()])
  server.use(http.delete('*/api/v1/consents/:id', () => HttpResponse.error(), { once: true }))
  await user.click(await screen.findByRole('button', { name: /^Withdraw the decision about Set-up script/ }))
  expect(await screen.findByText('The server cannot be reached.')).toBeVisible()
  await user.click(screen.getByRole('button', { name: 'Try again' }))
  expect(await screen.findByText('Nothing allowed yet')).toBeVisible()
})
