import clsx from 'clsx'
import { useTranslation } from 'react-i18next'
import type { DiffLine } from '@/lib/line-diff'
import { ScrollPre } from '@/ui/scroll-pre'
import { useKeptState } from './kept-state'

const CONTEXT_LINES = 3
const FOLDED_LINES = 24

type Shown = DiffLine | { type: 'skipped'; text: string }

const LINE_CLASS: Record<Shown['type'], string> = {
  same: '',
  removed: 'bg-danger-soft',
  added: 'bg-success-soft',
  skipped: 'bg-sunken text-muted',
}
const SIGN: Record<Shown['type'], string> = { same: ' ', removed: '−', added: '+', skipped: '⋯' }

/** A small diff in the flow of the chat: changed lines with little context. */
export function InlineDiff({ lines }: { lines: readonly DiffLine[] }) {
  const { t } = useTranslation()
  const [isOpen, setIsOpen] = useKeptState('diff', false)
  const relevant = withContext(lines)
  const shown = isOpen ? relevant : relevant.slice(0, FOLDED_LINES)
  return (
    <div>
      <ScrollPre className={clsx('font-mono text-xs leading-relaxed', isOpen && 'max-h-[32rem]')}>
        <code className="block w-max min-w-full">
          {shown.map((line, index) => (
            <span key={index} className={clsx('block px-3', LINE_CLASS[line.type])}>
              <span className="inline-block w-4 text-muted select-none">{SIGN[line.type]}</span>
              {line.text || ' '}
            </span>
          ))}
        </code>
      </ScrollPre>
      {relevant.length > FOLDED_LINES && (
        <button
          type="button"
          aria-expanded={isOpen}
          onClick={() => setIsOpen(!isOpen)}
          className="w-full bg-sunken px-3 py-1 text-left text-xs text-accent hover:underline"
        >
          {isOpen ? t('output.fold') : t('output.expand', { count: relevant.length })}
        </button>
      )}
    </div>
  )
}

/** Runs of unchanged lines shrink to those near a change. */
function withContext(lines: readonly DiffLine[]): Shown[] {
  const isNear = new Uint8Array(lines.length)
  lines.forEach((line, index) => {
    if (line.type !== 'same') isNear.fill(1, Math.max(0, index - CONTEXT_LINES), index + CONTEXT_LINES + 1)
  })
  const shown: Shown[] = []
  lines.forEach((line, index) => {
    if (isNear[index]) shown.push(line)
    else if (shown.at(-1)?.type !== 'skipped') shown.push({ type: 'skipped', text: '' })
  })
  return shown
}
