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
  /** Its own part of the patch. */
  text: string
}

/** The files of a patch. Each is parsed apart: what follows one that cannot be read is still shown. */
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

/** From git's own words: the parser takes a rename with changed lines, and an empty new file, for plain changes. */
function statusOf(head: string): FilePatch['status'] {
  if (/^(?:new file mode|copy from) /m.test(head)) return 'ADDED'
  if (/^deleted file mode /m.test(head)) return 'DELETED'
  return /^rename from /m.test(head) ? 'MOVED' : 'UPDATED'
}

/** Git writes unusual names in quotes with the bytes of their UTF-8 form as octal escapes. */
export function readablePath(written: string): string {
  // The parser cuts two characters for "a/" and so leaves the slash and the closing quote of a quoted name;
  // git ends a name that contains spaces with a tab.
  const path = written.replace(/\t$/, '').replace(/^"?(?:[ab]?\/)?(.*)"$/, '$1')
  if (!path.includes('\\')) return path
  const bytes: number[] = []
  for (const [part, octal, escaped] of path.matchAll(/\\([0-7]{3})|\\(.)|[^\\]+/g)) {
    if (octal !== undefined) bytes.push(parseInt(octal, 8))
    else bytes.push(...new TextEncoder().encode(escaped ?? part))
  }
  return new TextDecoder().decode(new Uint8Array(bytes))
}
