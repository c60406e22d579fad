import { expect, test } from 'vitest'
import { formatAge, formatDuration, formatElapsed } from './time'

const NOW = Date.parse('2026-01-02T00:00:00Z')

test.each([
  ['2026-01-01T23:59:30Z', 'now'],
  ['2026-01-02T00:05:00Z', 'now'],
  ['2026-01-01T23:55:00Z', '5m ago'],
  ['2026-01-01T00:00:00Z', 'yesterday'],
])('%s reads %s at midnight', (iso, age) => {
  expect(formatAge(iso, NOW, 'en')).toBe(age)
})

test.each([
  [640, '640 ms'],
  [4200, '4.2 s'],
  [59_980, '1 m 00 s'],
  [185_000, '3 m 05 s'],
])('%i ms reads %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text)
})

test.each([
  [-300, '0 s'],
  [4900, '4 s'],
  [185_900, '3 m 05 s'],
])('%i ms so far read %s', (ms, text) => {
  expect(formatElapsed(ms)).toBe(text)
})
