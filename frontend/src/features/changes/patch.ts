/** A unified git patch as files with counts: pure. */
import { parseDiff, type FileData } from 'react-diff-view'

export interface FilePatch {
  path: string
  /** Where it was before a rename. */
  previousPath: string | null
  status: 'ADDED' | 'UPDATED' | 'DELETED' | 'MOVED'
  additions: number
  deletions: number
  isBinary: boolean
  diff: FileData
}

const STATUS: Record<FileData['type'], FilePatch['status']> = {
  add: 'ADDED',
  delete: 'DELETED',
  modify: 'UPDATED',
  rename: 'MOVED',
  copy: 'ADDED',
}

export function parsePatch(patch: string): FilePatch[] {
  return patch.trim() === '' ? [] : parseDiff(patch).map(toFilePatch)
}

function toFilePatch(diff: FileData): FilePatch {
  const changes = diff.hunks.flatMap((hunk) => hunk.changes)
  const oldPath = readablePath(diff.oldPath)
  const path = diff.type === 'delete' ? oldPath : readablePath(diff.newPath)
  return {
    path,
    previousPath: diff.type === 'rename' || diff.type === 'copy' ? oldPath : null,
    status: STATUS[diff.type],
    additions: changes.filter((change) => change.type === 'insert').length,
    deletions: changes.filter((change) => change.type === 'delete').length,
    isBinary: diff.isBinary ?? false,
    diff,
  }
}

/** Git writes unusual names in quotes with the bytes of their UTF-8 form as octal escapes. */
export function readablePath(path: string): string {
  if (!path.includes('\\')) return path
  const bytes: number[] = []
  for (const [part, octal, escaped] of path.matchAll(/\\([0-7]{3})|\\(.)|[^\\]+/g)) {
    if (octal !== undefined) bytes.push(parseInt(octal, 8))
    else bytes.push(...new TextEncoder().encode(escaped ?? part))
  }
  return new TextDecoder().decode(new Uint8Array(bytes))
}

/** The text of one file's part of `patch`; empty when the file is not in it. */
export function patchOf(patch: string, file: FilePatch): string {
  const parts = patch.split(/^(?=diff --git )/m).filter((part) => part.startsWith('diff --git '))
  return parts.find((part) => parsePatch(part)[0]?.path === file.path) ?? ''
}
