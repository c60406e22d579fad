import { expect, it } from 'vitest'
import { i18n } from '@/i18n/i18n'
import { readableText, type TextKind } from './readable-text'

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
  [
    'the merged work of a sub-agent',
    'answer',
    'It works.\n\n[task-3: done by reviewer for $0.0100.] Merged into your working directory, not committed: a.py. It worked with your model: big is not known here.',
    'It works.\n\nMerged into the working directory, not committed: a.py. It worked with the agent’s model: big is not known here.',
  ],
  [
    'the work of a sub-agent that conflicts',
    'answer',
    'It works.\n\n[task-3: done by reviewer.]\nTO DO: its changes conflict with yours in a.py and 2 more. Nothing in your working directory was touched. Its work is the commit abc, begun at def. Settle it now: read `git diff`.',
    'It works.\n\nIts changes conflict with those of the agent in a.py and 2 more. The agent must resolve the conflict.',
  ],
  [
    'the same call again',
    'answer',
    'Nothing has changed since you made this very call before: that answer, further up, still holds and is not repeated here.',
    'Nothing has changed since the agent made the same call before.',
  ],
  [
    'a call whose arguments were cut off',
    'error',
    'Your reply was cut off at the limit of its length, within the arguments of `terminal`; it was not run. Do it in smaller parts.',
    'The model’s reply was cut off at its length limit, so this call of terminal was not run.',
  ],
  [
    'a call after the agent was told to stop',
    'error',
    'Not run: you were told to stop and to ask the user.',
    'Not run: the agent was told to stop and ask you.',
  ],
  [
    'an edit in the plan mode',
    'error',
    'Only the plan can be changed while you plan: /w/PLAN.md.',
    'Only the plan can be changed while the agent plans: /w/PLAN.md.',
  ],
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
  expect(readableText(i18n.t, told, kind)).toBe(shown)
})
