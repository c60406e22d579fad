import { describe, expect, it } from 'vitest'
import { startRequest } from './start-request'

const TASK = {
  task: 'Measure',
  repository: 'https://git.example/team/harbour',
  branch: '',
  profile: '',
  budget: '',
}

describe('what a task fetches', () => {
  it('is named only where there is a repository and it is not what the settings say', () => {
    const asked = { ...TASK, directory: ' packages/web ', clone: 'shallow', submodules: 'false' } as const
    expect(startRequest(asked)).toMatchObject({
      selected_directory: 'packages/web',
      clone: 'shallow',
      submodules: false,
    })
    for (const plain of [
      { ...asked, repository: '' },
      { ...TASK, directory: ' ', clone: '', submodules: '' } as const,
    ]) {
      expect(startRequest(plain)).not.toHaveProperty('selected_directory')
      expect(startRequest(plain)).not.toHaveProperty('clone')
      expect(startRequest(plain)).not.toHaveProperty('submodules')
    }
  })
})

describe('the further repositories of a task', () => {
  it('are those that have a name', () => {
    const more = [
      { repository: ' https://git.example/team/lamp ', branch: ' light ' },
      { repository: '', branch: 'main' },
      { repository: '/srv/git/pier', branch: '' },
    ]
    expect(startRequest({ ...TASK, more }).more_repositories).toEqual([
      { repository: 'https://git.example/team/lamp', branch: 'light' },
      { repository: '/srv/git/pier', branch: null },
    ])
    expect(startRequest({ ...TASK, repository: '', more })).not.toHaveProperty('more_repositories')
  })
})
