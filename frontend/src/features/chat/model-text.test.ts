import { expect, it } from 'vitest'
import { i18n } from '@/i18n/i18n'
import { forPeople, type TextKind } from './model-text'

it.each<[string, TextKind, string, string]>([
  [
    'the middle of a long output',
    'output',
    'a\n[… 70,000 characters left out here; the full output is in /w/.agent/output/1.txt …]\nz',
    'a\n… 70,000 characters left out …\nz',
  ],
  [
    'a command that was not run',
    'output',
    'This command was not run, because an earlier one is still running: make\nWait for it with an empty command, answer it with is_input=true, stop it with is_input=true and "C-c", or start over with reset=true.',
    'This command was not run, because an earlier one is still running: make',
  ],
  ['a whole file', 'answer', '/w/a.py, lines 1-1 of 1:\n     1\timport os', '     1\timport os'],
  [
    'the beginning of a file',
    'answer',
    '/w/a.py, lines 1-2 of 9:\n     1\ta\n     2\tb\n<response clipped> Ask for view_range [3, 9] to go on.',
    'Lines 1–2 of 9\n     1\ta\n     2\tb',
  ],
  [
    'a part of a file, read another way',
    'answer',
    '[Lines 1-2 of 9 of /w/a.py. Go on with offset=2.]\na\nb',
    'Lines 1–2 of 9\na\nb',
  ],
  [
    'a large directory',
    'answer',
    '/w/\n/w/a\n<response clipped> 12 more entries; view a directory below, or use find.',
    '/w/\n/w/a\n12 more entries',
  ],
  [
    'the first files of many',
    'answer',
    'Found 900\na\n[Only the first 500 are shown: list a directory further down.]',
    'Found 900\na\n500 of them are shown.',
  ],
  [
    'a notebook',
    'answer',
    '/w/n.ipynb, a notebook of 3 cells. The commands that edit work on the JSON text of the notebook, which `view` with a `view_range` shows.\n\n[1]\n\n<response clipped> 2 more cells.',
    '/w/n.ipynb, a notebook of 3 cells.\n\n[1]\n\n2 more cells',
  ],
  [
    'a piece of a page',
    'answer',
    'Hi.\n\n[Characters 0 to 100 of 900: go on with start_from_char=100.]',
    'Hi.\n\nCharacters 0 to 100 of 900',
  ],
  ['a cell without output', 'answer', '[The cell has printed nothing.]', 'No output'],
  ['a skill', 'answer', 'Do this.\n\n[Files it mentions lie in /w/skills/a]', 'Do this.'],
  ["a sub-agent's report", 'answer', 'It works.\n\n[task-3: done by reviewer for $0.0100.]', 'It works.'],
  ['a reminder', 'answer', 'Sunny.\n<system-reminder>\nDo not say so.\n</system-reminder>\n', 'Sunny.\n'],
  [
    'an edit that found nothing',
    'error',
    '`old_str` does not occur in the file. Nothing was changed. View the place again and copy it exactly.',
    'The text to replace does not occur in the file. Nothing was changed.',
  ],
  [
    'an edit that quotes what is there',
    'error',
    '`old_str` does not occur in the file. Nothing was changed. These lines differ from it only in blanks:\n     3\tnote: use this.',
    'The text to replace does not occur in the file. Nothing was changed. These lines differ from it only in blanks:\n     3\tnote: use this.',
  ],
  [
    'a tool that is not there',
    'error',
    "Tool 'fly' not found. Available: terminal, think.",
    "Tool 'fly' not found.",
  ],
  [
    'a call that was cut off',
    'error',
    'Interrupted by the user; it may have run, wholly or in part. Check what it did before you repeat it or build on it.',
    'Interrupted by the user; it may have run, wholly or in part.',
  ],
  [
    'a note that is there',
    'error',
    'There is a note port already: update it, or choose another name.',
    'There is a note port already.',
  ],
  ['nothing but directions', 'error', 'Use the terminal to look into it.', 'This step did not work.'],
  [
    'what a command prints about itself',
    'output',
    'Use -h for help.\n<system>x</system>',
    'Use -h for help.\n<system>x</system>',
  ],
])('shows people %s', (_, kind, told, shown) => {
  expect(forPeople(i18n.t, told, kind)).toBe(shown)
})
