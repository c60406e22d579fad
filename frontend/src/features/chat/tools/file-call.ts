/** Describes the calls of all agents' file tools in one form, so that one card can show them. Pure. */
import {
  actionIs,
  observationIs,
  type Action,
  type ActionByKind,
  type FileCommand,
  type Observation,
} from '@/events/wire/types'
import { lineDiff, type DiffLine } from '@/lib/text/line-diff'

export interface FileCall {
  command: FileCommand | 'list'
  path: string
  /** The lines that the action asks for. The observation may have more. */
  asked: DiffLine[]
}

/** Returns `action` as a call for one file or directory. Returns null for all other actions. */
export function fileCall(action: Action | null | undefined): FileCall | null {
  if (actionIs(action, 'FileEditorAction') || actionIs(action, 'PlanningFileEditorAction'))
    return { command: action.command, path: action.path, asked: editorLines(action) }
  if (actionIs(action, 'ReadFileAction')) return { command: 'view', path: action.file_path, asked: [] }
  if (actionIs(action, 'ListDirectoryAction'))
    return { command: 'list', path: action.dir_path ?? '.', asked: [] }
  if (actionIs(action, 'WriteFileAction'))
    return { command: 'create', path: action.file_path, asked: lineDiff('', action.content) }
  if (actionIs(action, 'EditAction')) {
    const asked = lineDiff(action.old_string, action.new_string)
    return { command: action.old_string === '' ? 'create' : 'str_replace', path: action.file_path, asked }
  }
  return null
}

/**
 * Returns the verb of the call, as a translation key. Only the arguments of the call say whether an edit
 * replaces several places. The user who must approve the call has to know this.
 */
export function verbOf(call: FileCall, toolArguments: string | undefined): string {
  const { overwrite, replace_all } = parsed(toolArguments)
  if (call.command === 'create' && overwrite === true) return 'overwrite'
  return call.command === 'str_replace' && replace_all === true ? 'replace_all' : call.command
}

function parsed(text: string | undefined): Record<string, unknown> {
  try {
    return (JSON.parse(text ?? '{}') ?? {}) as Record<string, unknown>
  } catch {
    return {}
  }
}

/**
 * Returns the edit as lines. The observation has the whole file. Until it arrives, returns the lines of the
 * request.
 */
export function changedLines(call: FileCall, observation: Observation | null): DiffLine[] {
  if (call.command === 'view' || call.command === 'list') return []
  const { old_content, new_content } = (observation ?? {}) as { old_content?: unknown; new_content?: unknown }
  if (typeof new_content !== 'string') return call.asked
  return lineDiff(typeof old_content === 'string' ? old_content : '', new_content)
}

function editorLines(
  action: ActionByKind['FileEditorAction'] | ActionByKind['PlanningFileEditorAction'],
): DiffLine[] {
  switch (action.command) {
    case 'create':
      return lineDiff('', action.file_text ?? '')
    case 'str_replace':
      return lineDiff(action.old_str ?? '', action.new_str ?? '')
    case 'insert':
      return lineDiff('', action.new_str ?? '')
    case 'view':
    case 'undo_edit':
    default: // a newer editor may have more commands
      return []
  }
}

export interface FilePatch {
  type: 'add' | 'delete' | 'update'
  path: string
  movedTo: string | null
  lines: DiffLine[]
}

/**
 * Returns a patch file by file: the applied patch if the observation contains it, and else the requested
 * patch.
 */
export function filePatches(patch: string, observation: Observation | null): FilePatch[] {
  const commit = observationIs(observation, 'ApplyPatchObservation') ? observation.commit : null
  if (!commit) return askedPatches(patch)
  return Object.entries(commit.changes ?? {}).map(([path, change]) => ({
    type: change.type,
    path,
    movedTo: change.move_path ?? null,
    lines: lineDiff(change.old_content ?? '', change.new_content ?? ''),
  }))
}

const FILE_HEADER = /^\*\*\* (Add|Delete|Update) File: (.+)$/
const MOVE_HEADER = /^\*\*\* Move to: (.+)$/
const LINE_TYPES: Record<string, DiffLine['type']> = { '+': 'added', '-': 'removed', ' ': 'same' }

function askedPatches(patch: string): FilePatch[] {
  const files: FilePatch[] = []
  for (const line of patch.split('\n')) {
    const [, verb, path] = FILE_HEADER.exec(line) ?? []
    const file = files.at(-1)
    const type = LINE_TYPES[line.charAt(0)]
    if (verb !== undefined && path !== undefined) {
      files.push({
        type: verb.toLowerCase() as FilePatch['type'],
        path: path.trim(),
        movedTo: null,
        lines: [],
      })
    } else if (file !== undefined) {
      file.movedTo = MOVE_HEADER.exec(line)?.[1]?.trim() ?? file.movedTo
      if (type !== undefined) file.lines.push({ type, text: line.slice(1) })
    }
  }
  return files
}
