import { useMemo } from 'react'
import type { TextStyle } from '@/events/wire/types'
import { pieces } from './ansi-styles'
import './ansi.css'

interface StyledTextProps {
  text: string
  styles: readonly TextStyle[]
  /** Where the text begins in the one that the styles are of. */
  offset: number
}

/** Text in the colours that a program has printed it in. */
export function StyledText({ text, styles, offset }: StyledTextProps) {
  const parts = useMemo(() => pieces(text, styles, offset), [text, styles, offset])
  return parts.map(({ text: part, look }, index) =>
    look === null ? (
      part
    ) : (
      <span key={index} className={look.className} style={look.style}>
        {part}
      </span>
    ),
  )
}
