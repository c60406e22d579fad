import { expect, test } from 'vitest'
import { parseTags, tagsText } from './tags'

test('a line of tags is read and written again', () => {
  const tags = parseTags(' bug, team: Blue sea,, bug')
  expect(tags).toEqual({ bug: '', team: 'Blue sea' })
  expect(tagsText(tags ?? {})).toBe('bug, team:Blue sea')
})

test.each(['Bug', 'two words', 'team-a', ':x', Array.from({ length: 21 }, (_, n) => `t${n}`).join(',')])(
  '%s is not a line of tags',
  (text) => expect(parseTags(text)).toBeUndefined(),
)
