import { useMemo } from 'react'
import type { TextStyle } from '@/events/wire/types'
import { styledPieces } from './ansi-styles'
import './ansi.css'

interface StyledTextProps {
  text: string
  styles: readonly TextStyle[]
  /** The position of this text in the text that `styles` belong to. */
  offset: number
}

/** Text in the colours in which a program has printed it. */
export function StyledText({ text, styles, offset }: StyledTextProps) {
  const parts = useMemo(() => styledPieces(text, styles, offset), [text, styles, offset])
  return parts.map(({ text: part, styleProps }, index) =>
    styleProps === null ? (
      part
    ) : (
      <span key={index} className={styleProps.className} style={styleProps.style}>
        {part}
      </span>
    ),
  )
}
