import clsx from 'clsx'
import type { DiffLine } from '@/lib/text/line-diff'
import { ScrollPre } from './scroll-pre'

const CONTEXT_LINES = 3

export type ShownLine = DiffLine | { type: 'skipped'; text: string }

const LINE_CLASS: Record<ShownLine['type'], string> = {
  same: '',
  removed: 'bg-danger-soft',
  added: 'bg-success-soft',
  skipped: 'bg-sunken text-muted',
}
const SIGN: Record<ShownLine['type'], string> = { same: ' ', removed: '−', added: '+', skipped: '⋯' }

export interface DiffLinesProps {
  lines: readonly ShownLine[]
  /** Wraps long lines, so that the user can see all of the text. Use it for text that a user has to judge. */
  wraps?: boolean
  className?: string
}

/** Shows the lines of a diff with their signs. `withContext` makes these lines. */
export function DiffLines({ lines, wraps = false, className }: DiffLinesProps) {
  return (
    <ScrollPre className={clsx('font-mono text-xs leading-relaxed', className)}>
      <code className={wraps ? 'block wrap-anywhere whitespace-pre-wrap' : 'block w-max min-w-full'}>
        {lines.map((line, index) => (
          <span key={index} className={clsx('block pr-3 pl-7 -indent-4', LINE_CLASS[line.type])}>
            <span className="inline-block w-4 indent-0 text-muted select-none">{SIGN[line.type]}</span>
            {line.text || ' '}
          </span>
        ))}
      </code>
    </ScrollPre>
  )
}

/** Shortens runs of unchanged lines to the lines near a change. */
export function withContext(lines: readonly DiffLine[]): ShownLine[] {
  const isNear = new Uint8Array(lines.length)
  lines.forEach((line, index) => {
    if (line.type !== 'same') isNear.fill(1, Math.max(0, index - CONTEXT_LINES), index + CONTEXT_LINES + 1)
  })
  const shown: ShownLine[] = []
  lines.forEach((line, index) => {
    if (isNear[index]) shown.push(line)
    else if (shown.at(-1)?.type !== 'skipped') shown.push({ type: 'skipped', text: '' })
  })
  return shown
}
