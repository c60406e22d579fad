import { describe, expect, it } from 'vitest'
import { parsePatch, readablePath } from './patch'

const RENAMED = `diff --git a/old name.txt b/new name.txt
similarity index 90%
rename from old name.txt
rename to new name.txt
index 1..2 100644
--- a/old name.txt\t
+++ b/new name.txt\t
@@ -1,2 +1,3 @@
 same
-gone
+come
+diff --git looks like a head
`
const DELETED = `diff --git a/gone.txt b/gone.txt
deleted file mode 100644
index 1..0
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-x
`

describe('a patch', () => {
  it('without anything in it has no files', () => {
    expect(parsePatch('\n')).toEqual([])
  })

  it('becomes files with their status, counts and own text', () => {
    const files = parsePatch(RENAMED + DELETED)
    expect(files).toMatchObject([
      { path: 'new name.txt', previousPath: 'old name.txt', status: 'MOVED', additions: 2, deletions: 1 },
      { path: 'gone.txt', previousPath: null, status: 'DELETED', additions: 0, deletions: 1 },
    ])
    expect(files.map((file) => file.text).join('')).toBe(RENAMED + DELETED)
  })
})

it.each([
  ['plain.txt', 'plain.txt'],
  ['with space.txt\t', 'with space.txt'],
  ['"b/gr\\303\\266\\303\\237e.md"', 'größe.md'],
  ['/say \\"hi\\".md"', 'say "hi".md'],
])('reads the name %j as %s', (written, expected) => {
  expect(readablePath(written)).toBe(expected)
})
