import { describe, expect, it } from 'vitest'
import { fakeSkill } from '@/test/agent-factories'
import { commandsOf, completionsOf } from './commands'

const commands = commandsOf([
  fakeSkill({ name: 'release', triggers: ['/release', 'publish'] }),
  fakeSkill({ name: 'deploy', triggers: ['/deploy'] }),
  fakeSkill({ name: 'zebra', triggers: ['zebra'] }),
])

describe('commands', () => {
  it('are the triggers that begin with a slash, by name', () => {
    expect(commands.map(({ trigger }) => trigger)).toEqual(['/deploy', '/release'])
  })

  it.each([
    ['/', ['/deploy', '/release']],
    ['/RE', ['/release']],
    ['/release', ['/release']],
    ['/release ', []],
    ['/x', []],
    ['see /re', []],
    ['', []],
  ])('%j is completed by %j', (text, expected) => {
    expect(completionsOf(commands, text).map(({ trigger }) => trigger)).toEqual(expected)
  })
})
