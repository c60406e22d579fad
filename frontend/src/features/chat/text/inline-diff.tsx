import { useTranslation } from 'react-i18next'
import type { DiffLine } from '@/lib/text/line-diff'
import { DiffLines, withContext } from '@/ui/text/diff-lines'
import { useRowState } from '../timeline/row-state'

const FOLDED_LINES = 24

export interface InlineDiffProps {
  lines: readonly DiffLine[]
  /** Whether long lines are wrapped. See `DiffLines`. */
  wraps?: boolean
}

/** A small diff inside the chat: the changed lines with a few lines around them. */
export function InlineDiff({ lines, wraps }: InlineDiffProps) {
  const { t } = useTranslation()
  const [isOpen, setIsOpen] = useRowState('diff', false)
  const relevant = withContext(lines)
  const shown = isOpen ? relevant : relevant.slice(0, FOLDED_LINES)
  return (
    <div>
      <DiffLines lines={shown} wraps={wraps} className={isOpen ? 'max-h-[32rem]' : undefined} />
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
