import { expect, it } from 'vitest'
import { pathRuleNames } from './path-rule-names'

const part = (text: string) => ({ type: 'text' as const, text })

it('finds the rules that a result gave the agent', () => {
  const parts = [
    part('<path_rule name="web/AGENTS.md">\nUse spaces.\n</path_rule>'),
    part('<path_rule name="a \\"b\\" \\u00e9">\nx'),
    part('<path_rule name="\\q">'),
    part('Something else. <path_rule name="no">'),
  ]
  expect(pathRuleNames(parts)).toEqual(['web/AGENTS.md', 'a "b" é', '"\\q"'])
  expect(pathRuleNames(undefined)).toEqual([])
})
