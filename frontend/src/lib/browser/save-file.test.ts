import { expect, test } from 'vitest'
import { fileNameOf } from './save-file'

test.each([
  ['Fix the failing test', 'fix-the-failing-test'],
  ['../../etc/passwd "x"', 'etc-passwd-x'],
  ['Größe ändern', 'größe-ändern'],
  ['…', 'conversation'],
  [`${'a'.repeat(59)} b`, 'a'.repeat(59)],
])('%s becomes %s', (title, name) => {
  expect(fileNameOf(title)).toBe(name)
})
