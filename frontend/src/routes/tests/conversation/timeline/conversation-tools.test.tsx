import { screen, within } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import type { Action } from '@/events/wire/types'
import { openConversation, timeline } from '@/test/open-conversation'
import { toolCall, toolResult, userMessage } from '@/test/sample-log'

const ROOT = '/srv/box/workspace/project/app'

async function openCall(action: Action, ...result: Parameters<typeof toolResult> | []) {
  const answered = result.length > 0 ? [toolResult(...(result as Parameters<typeof toolResult>))] : []
  const { user } = openConversation({ events: [toolCall('a', action), ...answered] })
  return { user, log: within(await timeline()) }
}

describe('the task list', () => {
  it('shows every task with its state and its notes', async () => {
    const { log } = await openCall(
      { kind: 'TaskTrackerAction', command: 'view' },
      'a',
      'TaskTrackerObservation',
      '',
      {
        task_list: [
          { title: 'Read the test', status: 'done' },
          { title: 'Mend division', status: 'in_progress', notes: 'by zero only' },
        ],
      },
    )
    expect(await log.findByText('1 of 2 done')).toBeVisible()
    expect(log.getByText('Mend division')).toHaveTextContent('in progress')
    expect(log.getByText('by zero only')).toBeVisible()
  })
})

describe('a search', () => {
  it('shows the files found by content, relative to the repository', async () => {
    const { user, log } = await openCall(
      { kind: 'GrepAction', pattern: 'def divide', path: `${ROOT}/src`, include: '*.py' },
      'a',
      'GrepObservation',
      'Found 2',
      { matches: [`${ROOT}/src/a.py`, `${ROOT}/src/b.py`], truncated: true },
    )
    const card = await log.findByRole('button', {
      name: /Search def divide in src \(\*\.py\)\s*newest 2 files/,
    })
    await user.click(card)
    expect(log.getByText(/^src\/a\.py\s+src\/b\.py$/)).toBeVisible()
  })

  it('shows the files found by name, and says when there are none', async () => {
    const { user, log } = await openCall(
      { kind: 'GlobAction', pattern: '*.toml' },
      'a',
      'GlobObservation',
      'No files found',
      { files: [] },
    )
    await user.click(await log.findByRole('button', { name: /Find \*\.toml\s*0 files/ }))
    expect(log.getByText('Nothing found')).toBeVisible()
  })

  it('is closed also when it was watched, until it fails', async () => {
    const { stream } = openConversation({
      events: [
        toolCall('a', { kind: 'GlobAction', pattern: '*.py' }),
        toolCall('b', { kind: 'GlobAction', pattern: '[' }),
      ],
    })
    const log = within(await timeline())
    expect(await log.findByRole('button', { name: /Find \*\.py/ })).toHaveAttribute('aria-expanded', 'false')
    stream.append(
      toolResult('a', 'GlobObservation', 'Found 1', { files: ['x.py'] }),
      toolResult('b', 'GlobObservation', 'No such pattern.', { files: [], is_error: true }),
    )
    expect(await log.findByText('No such pattern.')).toBeVisible()
    expect(log.queryByText('x.py')).not.toBeInTheDocument()
  })

  it('shows why it could not be made', async () => {
    const { log } = await openCall({ kind: 'GrepAction', pattern: '(' }, 'a', 'GrepObservation', 'unclosed', {
      matches: [],
      is_error: true,
    })
    expect(await log.findByText('unclosed')).toBeVisible()
  })
})

describe('a patch', () => {
  const patch = [
    '*** Begin Patch',
    '*** Update File: src/a.py',
    '*** Move to: src/b.py',
    '@@ def divide',
    '-    return a * b',
    '+    return a / b',
    '*** Add File: notes.txt',
    '+one',
    '*** End Patch',
  ].join('\n')

  it('shows what it asks for, file by file, while it runs', async () => {
    const { log } = await openCall({ kind: 'ApplyPatchAction', patch })
    expect(await log.findByText('Patch 2 files')).toBeVisible()
    expect(log.getByRole('heading', { name: 'Edit src/a.py → src/b.py' })).toBeVisible()
    expect(log.getByText(/return a \/ b/)).toHaveTextContent('+')
    expect(log.getByRole('heading', { name: 'Add notes.txt' })).toBeVisible()
  })

  it('shows what it has changed once it is done', async () => {
    const { log } = await openCall({ kind: 'ApplyPatchAction', patch }, 'a', 'ApplyPatchObservation', 'ok', {
      commit: {
        changes: {
          'src/a.py': { type: 'update', old_content: 'x\ny\n', new_content: 'x\nz\n' },
          'old.py': { type: 'delete', old_content: 'gone\n' },
        },
      },
    })
    expect(await log.findByLabelText('1 lines added, 2 removed')).toBeVisible()
    expect(log.getByRole('heading', { name: 'Delete old.py' })).toBeVisible()
  })

  it('says why it could not be applied', async () => {
    const { log } = await openCall(
      { kind: 'ApplyPatchAction', patch },
      'a',
      'ApplyPatchObservation',
      'No such context.',
      { is_error: true },
    )
    expect(await log.findByText('No such context.')).toBeVisible()
    expect(log.getByText('Failed')).toBeVisible()
  })
})

describe('the file tools of other agents', () => {
  it.each<[string, string | null, Action]>([
    ['Read src/a.py', null, { kind: 'ReadFileAction', file_path: `${ROOT}/src/a.py` }],
    [
      'Create src/a.py',
      '1 lines added, 0 removed',
      { kind: 'WriteFileAction', file_path: `${ROOT}/src/a.py`, content: 'x\n' },
    ],
    [
      'Edit src/a.py',
      '1 lines added, 1 removed',
      { kind: 'EditAction', file_path: `${ROOT}/src/a.py`, old_string: 'x', new_string: 'y' },
    ],
    ['List src', null, { kind: 'ListDirectoryAction', dir_path: `${ROOT}/src` }],
    [
      'Create PLAN.md',
      '1 lines added, 0 removed',
      { kind: 'PlanningFileEditorAction', command: 'create', path: `${ROOT}/PLAN.md`, file_text: 'First\n' },
    ],
  ])('read like the editor’s: %s', async (title, counts, action) => {
    const { log } = await openCall(action, 'a', action.kind.replace('Action', 'Observation'), 'done')
    expect(await log.findByRole('button', { name: (name) => name.startsWith(title) })).toBeVisible()
    if (counts !== null) expect(log.getByLabelText(counts)).toBeVisible()
  })
})

describe('a file that could not be read', () => {
  it('says why without being asked', async () => {
    const { log } = await openCall(
      { kind: 'FileEditorAction', command: 'view', path: `${ROOT}/gone.py` },
      'a',
      'FileEditorObservation',
      'There is no such file.',
      { is_error: true },
    )
    expect(await log.findByText('There is no such file.')).toBeVisible()
  })
})

describe('a command', () => {
  it('that waits for input has not failed, and what is typed is told from a command', async () => {
    openConversation({
      events: [
        toolCall('a', { kind: 'TerminalAction', command: 'read name' }),
        toolResult('a', 'TerminalObservation', 'name?', { exit_code: -1, timeout: true }),
        toolCall('b', { kind: 'TerminalAction', command: 'Ada', is_input: true }),
        toolResult('b', 'TerminalObservation', 'Hello Ada', { exit_code: 0 }),
      ],
    })
    const log = within(await timeline())
    expect(await log.findByRole('button', { name: /^read name\s*Still running$/ })).toBeVisible()
    expect(log.getByRole('button', { name: /^Input Ada/ })).toBeVisible()
  })
})

describe('notes', () => {
  const note = { command: 'create', name: 'tests', title: 'How tests run', text: 'With **make**.' }

  async function openNote(tool: string, data: Record<string, unknown>, output: string, isError = false) {
    const asked = { ...toolCall('a', { kind: 'MCPToolAction', data }), tool_name: tool }
    const answer = toolResult('a', 'MCPToolObservation', output, { is_error: isError })
    const { user } = openConversation({ events: [asked, answer] })
    return { user, log: within(await timeline()) }
  }

  it('that the agent keeps read like text', async () => {
    const { user, log } = await openNote('memory_write', note, 'Kept.')
    await user.click(await log.findByRole('button', { name: 'Keep a note: How tests run' }))
    expect(await log.findByText('make', { selector: 'strong' })).toBeVisible()
  })

  it('that it looks for are shown with what it found', async () => {
    const { user, log } = await openNote('memory_search', { query: 'tests' }, '# tests: How tests run')
    await user.click(await log.findByRole('button', { name: 'Search the notes for tests' }))
    expect(await log.findByRole('heading', { name: 'tests: How tests run' })).toBeVisible()
  })

  it('that could not be kept say why', async () => {
    const { log } = await openNote('memory_write', note, 'There are too many notes.', true)
    expect(await log.findByText('There are too many notes.')).toBeVisible()
  })

  it('leave a tool alone that only has the same name', async () => {
    const { user, log } = await openNote('memory_write', { path: 'x' }, 'done')
    await user.click(await log.findByRole('button', { name: 'memory_write' }))
    expect(log.getByText('Arguments')).toBeVisible()
  })
})

describe('skills', () => {
  it('are named on the message that brought them along', async () => {
    openConversation({
      events: [{ ...userMessage('m', 'Deploy it'), activated_skills: ['release', 'docker'] }],
    })
    expect(await screen.findByText('Skills used:')).toBeInTheDocument()
    expect(screen.getByText('release')).toBeVisible()
    expect(screen.getByText('docker')).toBeVisible()
  })

  it('that the agent reads show their text on demand', async () => {
    const { user, log } = await openCall(
      { kind: 'InvokeSkillAction', name: 'release' },
      'a',
      'InvokeSkillObservation',
      'Tag **first**.',
    )
    await user.click(await log.findByRole('button', { name: 'Read the skill release' }))
    expect(await log.findByText('first', { selector: 'strong' })).toBeVisible()
  })
})

describe('a picture the agent looks at', () => {
  it('is shown to the reader, too', async () => {
    const picture = 'data:image/png;base64,iVBORw0KGgo='
    const { log } = await openCall(
      { kind: 'FileEditorAction', command: 'view', path: `${ROOT}/plot.png` },
      'a',
      'FileEditorObservation',
      'PNG image',
      {
        content: [
          { type: 'text', text: 'PNG image, 4 x 3 pixels' },
          { type: 'image', image_urls: [picture] },
        ],
      },
    )
    expect(await log.findByRole('img', { name: 'Attached picture' })).toHaveAttribute('src', picture)
    expect(log.getByText('PNG image, 4 x 3 pixels')).toBeVisible()
  })
})
