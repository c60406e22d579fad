export interface DiffLine {
  type: 'same' | 'removed' | 'added'
  text: string
}

const MAX_CELLS = 250_000

/**
 * Returns the difference of two texts, line by line. If the texts are too large to compare quickly, their
 * differing parts count as removed and added completely.
 */
export function lineDiff(before: string, after: string): DiffLine[] {
  const left = splitLines(before)
  const right = splitLines(after)
  const start = commonPrefix(left, right)
  const end = commonPrefix(left.slice(start).reverse(), right.slice(start).reverse())
  const same = (text: string): DiffLine => ({ type: 'same', text })
  return [
    ...left.slice(0, start).map(same),
    ...diffMiddle(left.slice(start, left.length - end), right.slice(start, right.length - end)),
    ...left.slice(left.length - end).map(same),
  ]
}

function splitLines(text: string): string[] {
  if (text === '') return []
  return (text.endsWith('\n') ? text.slice(0, -1) : text).split('\n')
}

function commonPrefix(left: string[], right: string[]): number {
  const shorter = Math.min(left.length, right.length)
  let length = 0
  while (length < shorter && left[length] === right[length]) length += 1
  return length
}

function diffMiddle(left: string[], right: string[]): DiffLine[] {
  const removed = (text: string): DiffLine => ({ type: 'removed', text })
  const added = (text: string): DiffLine => ({ type: 'added', text })
  if (left.length * right.length > MAX_CELLS) return [...left.map(removed), ...right.map(added)]
  const lengths = commonLengths(left, right)
  const lines: DiffLine[] = []
  let l = 0
  let r = 0
  while (l < left.length && r < right.length) {
    if (left[l] === right[r]) {
      lines.push({ type: 'same', text: left[l] ?? '' })
      l += 1
      r += 1
    } else if ((lengths[l + 1]?.[r] ?? 0) >= (lengths[l]?.[r + 1] ?? 0)) {
      lines.push(removed(left[l] ?? ''))
      l += 1
    } else {
      lines.push(added(right[r] ?? ''))
      r += 1
    }
  }
  return [...lines, ...left.slice(l).map(removed), ...right.slice(r).map(added)]
}

/**
 * `[l][r]` is the length of the longest common subsequence of the lines from position l on the left and from
 * r on the right.
 */
function commonLengths(left: string[], right: string[]): Uint32Array[] {
  const rows = Array.from({ length: left.length + 1 }, () => new Uint32Array(right.length + 1))
  for (let l = left.length - 1; l >= 0; l -= 1) {
    const row = rows[l] as Uint32Array
    const below = rows[l + 1] as Uint32Array
    for (let r = right.length - 1; r >= 0; r -= 1) {
      const isSame = left[l] === right[r]
      row[r] = isSame ? (below[r + 1] ?? 0) + 1 : Math.max(below[r] ?? 0, row[r + 1] ?? 0)
    }
  }
  return rows
}
