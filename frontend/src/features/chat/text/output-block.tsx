import clsx from 'clsx'
import { useTranslation } from 'react-i18next'
import { ScrollPre } from '@/ui/text/scroll-pre'
import type { TextStyle } from '@/events/wire/types'
import { useRowState } from '../timeline/row-state'
import { useWithShortPaths } from './short-path'
import { StyledText } from './styled-text'

const FOLDED_LINES = 14
const FOLDED_CHARACTERS = 4_000
const MAX_CHARACTERS = 200_000

export interface OutputBlockProps {
  text: string
  /**
   * The end of a long text that is shown: the last lines of a command's output, or the first lines of a file.
   */
  keep?: 'start' | 'end'
  isError?: boolean
  /** The colours of the text, by position. */
  styles?: readonly TextStyle[]
}

const PLAIN: readonly TextStyle[] = []

/** Preformatted text. A long text shows only one end until the user opens it. */
export function OutputBlock({ text: whole, keep = 'end', isError, styles = PLAIN }: OutputBlockProps) {
  const { t } = useTranslation()
  const sentence = useWithShortPaths(whole)
  const text = isError ? sentence : whole
  const [isOpen, setIsOpen] = useRowState('output', false)
  const folded = foldText(text, keep)
  const isFolded = folded !== text && !isOpen
  const shown = isFolded ? folded : foldText(text, keep, Number.POSITIVE_INFINITY, MAX_CHARACTERS)
  const toggle = folded !== text && (
    <button
      type="button"
      aria-expanded={isOpen}
      onClick={() => setIsOpen(!isOpen)}
      className="w-full px-3 py-1 text-left text-xs text-accent hover:underline"
    >
      {isOpen ? t('output.fold') : t('output.expand', { count: text.split('\n').length })}
    </button>
  )
  return (
    <div className="bg-sunken">
      {keep === 'end' && toggle}
      <ScrollPre
        className={clsx(
          'px-3 py-2 font-mono text-xs leading-relaxed',
          isOpen && 'max-h-[32rem]',
          // An error is a sentence, so its lines are wrapped. Output is read line by line.
          isError ? 'wrap-anywhere whitespace-pre-wrap text-danger' : 'whitespace-pre',
        )}
      >
        <StyledText text={shown} styles={styles} offset={keep === 'end' ? text.length - shown.length : 0} />
      </ScrollPre>
      {isOpen && shown !== text && <p className="px-3 pb-1 text-xs text-muted">{t('output.cut')}</p>}
      {keep === 'start' && toggle}
    </div>
  )
}

function foldText(
  text: string,
  keep: 'start' | 'end',
  maxLines = FOLDED_LINES,
  maxCharacters = FOLDED_CHARACTERS,
): string {
  const lines = text.split('\n')
  const hasFewLines = lines.length <= maxLines + 2
  const kept = hasFewLines ? lines : keep === 'end' ? lines.slice(-maxLines) : lines.slice(0, maxLines)
  const joined = kept.join('\n')
  if (joined.length <= maxCharacters) return joined
  return keep === 'end' ? joined.slice(-maxCharacters) : joined.slice(0, maxCharacters)
}
