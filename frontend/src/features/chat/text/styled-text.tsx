import { useMemo } from 'react'
import type { TextStyle } from '@/events/wire/types'
import { pieces } from './ansi-styles'
import './ansi.css'

interface StyledTextProps {
  text: string
  styles: readonly TextStyle[]
  /** The position of this text in the text that `styles` belong to. */
  offset: number
}

/** Text in the colours in which a program has printed it. */
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
