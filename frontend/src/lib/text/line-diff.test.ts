import { expect, it } from 'vitest'
import { lineDiff } from './line-diff'

const SIGNS = { same: ' ', removed: '-', added: '+' }
const show = (before: string, after: string) =>
  lineDiff(before, after).map((line) => SIGNS[line.type] + line.text)

it.each([
  ['a changed line', 'a\nb\nc\n', 'a\nB\nc\n', [' a', '-b', '+B', ' c']],
  ['a new file', '', 'a\nb\n', ['+a', '+b']],
  ['an emptied file', 'a\n', '', ['-a']],
  ['equal texts', 'a\nb', 'a\nb', [' a', ' b']],
  ['lines moved apart', 'a\nb\nc', 'a\nx\nb\ny\nc', [' a', '+x', ' b', '+y', ' c']],
  ['a repeated line', 'a\na\n', 'a\na\na\n', [' a', ' a', '+a']],
])('shows %s', (_, before, after, expected) => {
  expect(show(before, after)).toEqual(expected)
})

it('stays quick with texts that have nothing in common', () => {
  const text = (word: string) => Array.from({ length: 20_000 }, (_, n) => `${word} ${n}`).join('\n')
  expect(lineDiff(text('a'), text('b'))).toHaveLength(40_000)
})
