import { expect, test } from 'vitest'
import { repositoryName } from './repository-name'

test.each([
  ['/srv/repos/app', 'app'],
  ['/srv/repos/app/', 'app'],
  ['owner/app', 'owner/app'],
  ['https://github.com/owner/app.git', 'owner/app'],
  ['git@github.com:owner/app.git', 'owner/app'],
])('%s is known as %s', (repository, name) => {
  expect(repositoryName(repository)).toBe(name)
})
