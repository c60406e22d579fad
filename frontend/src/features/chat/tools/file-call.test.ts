import { describe, expect, it } from 'vitest'
import { verbOf, type FileCall } from './file-call'

const create: FileCall = { command: 'create', path: '/a', asked: [] }
const edit: FileCall = { command: 'str_replace', path: '/a', asked: [] }

describe('what a call does to a file', () => {
  it.each<[FileCall, string | undefined, string]>([
    [create, '{"overwrite": true}', 'overwrite'],
    [create, '{"overwrite": false}', 'create'],
    [edit, '{"replace_all": true}', 'replace_all'],
    [edit, '{"overwrite": true}', 'str_replace'],
    [edit, 'broken', 'str_replace'],
    [edit, 'null', 'str_replace'],
    [edit, undefined, 'str_replace'],
  ])('follows from its arguments: %o %s', (call, given, verb) => {
    expect(verbOf(call, given)).toBe(verb)
  })
})
