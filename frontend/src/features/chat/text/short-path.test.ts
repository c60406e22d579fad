import { expect, it } from 'vitest'
import { shortPath, withShortPaths } from './short-path'

it.each([
  ['/workspace/project/voyage/voyage/duration.py', '/srv/voyage', 'voyage/duration.py'],
  ['/home/ada/.slipway/sandboxes/1/workspace/project/app/a.py', 'https://example.org/ada/app.git', 'a.py'],
  ['/workspace/project/app', 'ada/app', 'app'],
  ['/workspace/project/app/', 'ada/app', 'app'],
  ['/workspace/project/other/a.py', 'ada/app', 'other/a.py'],
  ['/workspace/project/notes/a.py', null, 'notes/a.py'],
  ['/workspace/project', null, '.'],
  ['/workspace/projects/a.py', 'ada/app', '/workspace/projects/a.py'],
  ['/etc/hosts', 'ada/app', '/etc/hosts'],
])('shortens %s of %s to %s', (path, repository, expected) => {
  expect(shortPath(path, repository)).toBe(expected)
})

it.each([
  ['There is no file /srv/b/workspace/project/app/src/a.py. Nothing', 'There is no file src/a.py. Nothing'],
  ['`/workspace/project/app/a.py`: no', '`a.py`: no'],
  ['see https://x.org/workspace/project/app/a.py', 'see https://x.org/workspace/project/app/a.py'],
  ['/etc/passwd: no', '/etc/passwd: no'],
])('shortens the paths in %s', (text, shown) => {
  expect(withShortPaths(text, 'https://git.example.org/team/app.git')).toBe(shown)
})
