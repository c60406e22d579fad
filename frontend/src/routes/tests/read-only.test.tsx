import { screen } from '@testing-library/react'
import { expect, test } from 'vitest'
import { fakeConversation, fakeUser } from '@/test/factories'
import { fakeProfile } from '@/test/model-factories'
import { renderApp } from '@/test/render-app'

const viewer = fakeUser({ role: 'viewer' })

test('a viewer is told that they cannot start tasks, and is offered no form', async () => {
  renderApp({ user: viewer, profiles: [fakeProfile()] })
  expect(await screen.findByText(/Your role lets you read, not start tasks/)).toBeVisible()
  expect(screen.queryByLabelText('Task')).toBeNull()
  expect(screen.queryByRole('link', { name: 'New task' })).toBeNull()
})

test('a viewer reads a conversation without a box to write in', async () => {
  const conversation = fakeConversation()
  renderApp({ user: viewer, url: `/conversations/${conversation.id}`, conversations: [conversation] })
  expect(await screen.findByText(/not write in it/)).toBeVisible()
  expect(screen.queryByRole('textbox', { name: 'Message to the agent' })).toBeNull()
})

test('a viewer reads settings and changes only what is theirs', async () => {
  const { router } = renderApp({ user: viewer, url: '/settings/models', profiles: [fakeProfile()] })
  expect(await screen.findByText(/read these settings, not change them/)).toBeVisible()
  expect(await screen.findByRole('button', { name: 'Add a model' })).toBeDisabled()
  await router.navigate('/settings/api-keys')
  expect(await screen.findByRole('button', { name: 'Create a key' })).toBeEnabled()
  expect(screen.queryByText(/not change them/)).toBeNull()
})
