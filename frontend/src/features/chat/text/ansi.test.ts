import { expect, it } from 'vitest'
import { plainTerminalText } from './ansi'

it.each([
  ['colours', '\u001b[1;31mred\u001b[0m text', 'red text'],
  ['a title set by the shell', '\u001b]0;title\u0007$ ls', '$ ls'],
  ['a link', '\u001b]8;;https://a.example\u001b\\here\u001b]8;;\u001b\\', 'here'],
  ['Windows line ends', 'a\r\nb\r\n', 'a\nb\n'],
  ['a progress bar', 'a\n 10%\r 50%\r100%\nb', 'a\n100%\nb'],
  ['a progress bar that has just returned', ' 10%\r 50%\r', ' 50%'],
  ['plain text', '[1] ok', '[1] ok'],
])('leaves the text of %s', (_, output, expected) => {
  expect(plainTerminalText(output)).toBe(expected)
})
