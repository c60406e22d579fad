/** Splits a unified git patch into files with counts of lines. Pure. */
import { parseDiff, type FileData } from 'react-diff-view'

export interface FilePatch {
  path: string
  /** The path before a rename. */
  previousPath: string | null
  status: 'ADDED' | 'UPDATED' | 'DELETED' | 'MOVED'
  additions: number
  deletions: number
  isBinary: boolean
  diff: FileData
  /** The part of the patch for this file. */
  text: string
}

/**
 * Returns the files of a patch. Each file is parsed separately. If one file cannot be parsed, the files after
 * it are still shown.
 */
export function parsePatch(patch: string): FilePatch[] {
  const parts = patch.split(/^(?=diff --git )/m).filter((part) => part.startsWith('diff --git '))
  return parts.flatMap((part) => parseDiff(part).map((diff) => toFilePatch(diff, part)))
}

function toFilePatch(diff: FileData, text: string): FilePatch {
  const changes = diff.hunks.flatMap((hunk) => hunk.changes)
  const head = text.slice(0, text.indexOf('\n@@') + 1 || undefined)
  const oldPath = readablePath(diff.oldPath)
  const hasMoved = /^(?:rename|copy) from /m.test(head)
  return {
    path: diff.newPath === '/dev/null' ? oldPath : readablePath(diff.newPath),
    previousPath: hasMoved ? oldPath : null,
    status: statusOf(head),
    additions: changes.filter((change) => change.type === 'insert').length,
    deletions: changes.filter((change) => change.type === 'delete').length,
    isBinary: /^(?:Binary files |GIT binary patch)/m.test(head),
    diff,
    text,
  }
}

/**
 * Returns the status from the header that git wrote. The parser reports a rename with changed lines, and an
 * empty new file, as normal changes.
 */
function statusOf(head: string): FilePatch['status'] {
  if (/^(?:new file mode|copy from) /m.test(head)) return 'ADDED'
  if (/^deleted file mode /m.test(head)) return 'DELETED'
  return /^rename from /m.test(head) ? 'MOVED' : 'UPDATED'
}

/**
 * Returns the readable form of a path. Git writes unusual names in quotes. It writes their UTF-8 bytes as
 * octal escapes.
 */
export function readablePath(written: string): string {
  // The parser removes two characters for "a/". In a quoted name, this leaves the slash and the closing
  // quote. Git writes a tab after a name that contains spaces.
  const path = written.replace(/\t$/, '').replace(/^"?(?:[ab]?\/)?(.*)"$/, '$1')
  if (!path.includes('\\')) return path
  const bytes: number[] = []
  for (const [part, octal, escaped] of path.matchAll(/\\([0-7]{3})|\\(.)|[^\\]+/g)) {
    if (octal !== undefined) bytes.push(parseInt(octal, 8))
    else bytes.push(...new TextEncoder().encode(escaped ?? part))
  }
  return new TextDecoder().decode(new Uint8Array(bytes))
}
