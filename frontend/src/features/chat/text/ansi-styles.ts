/** Converts a terminal's styles to styles of the page. See ansi.css for the colours. */
import Anser from 'anser'
import type { CSSProperties } from 'react'
import type { TextStyle } from '@/events/wire/types'

export interface StyleProps {
  className: string
  style?: CSSProperties
}

/** A piece of text with one style. `styleProps` is null if the style is unknown or missing. */
export interface StyledPiece {
  text: string
  styleProps: StyleProps | null
}

const DECORATIONS: Record<string, string> = {
  bold: 'font-semibold',
  dim: 'opacity-75',
  italic: 'italic',
  underline: 'underline',
  strikethrough: 'line-through',
  hidden: 'invisible',
}
const BASIC = /^ansi-(?:bright-)?(?:black|red|green|yellow|blue|magenta|cyan|white)$/
const EXTENDED = /\b[34]8;(?:5;\d+|2;\d+;\d+;\d+)/g
const ASKS_INVERSE = /(?:^|;)7(?:;|$)/
const REMEMBERED = 500
const known = new Map<string, StyleProps>()

/**
 * Returns the classes and the style of an element. `code` has the parameters of an escape sequence, such as
 * `1;31`. Returns null for unknown codes.
 */
export function stylePropsOf(code: string): StyleProps | null {
  const remembered = known.get(code)
  if (remembered !== undefined) return remembered
  if (!/^[\d;]+$/.test(code)) return null
  const styleProps = toStyleProps(code)
  if (known.size >= REMEMBERED) known.clear()
  known.set(code, styleProps)
  return styleProps
}

function toStyleProps(code: string): StyleProps {
  // For inverse text, Anser would use black and white in every theme. The code 27 switches the inverse off.
  const read = (use_classes: boolean) =>
    Anser.ansiToJson(`\u001b[${code};27mx`, { json: true, remove_empty: true, use_classes })[0]
  const byName = read(true)
  const byValue = read(false)
  const front = colour(byName?.fg, byValue?.fg)
  const back = colour(byName?.bg, byValue?.bg)
  const decorations: readonly string[] = byName?.decorations ?? []
  const isInverse = ASKS_INVERSE.test(code.replace(EXTENDED, ''))
  const style = {
    ...(front && { '--ansi-front': front }),
    ...(back && { '--ansi-back': back }),
  } as CSSProperties
  const classes = [
    front && 'ansi-front',
    back && 'ansi-back',
    isInverse && 'ansi-inverse',
    ...decorations.map((each) => DECORATIONS[each]),
  ].filter(Boolean)
  return { className: classes.join(' '), style }
}

/** Returns the name of one of our own colours. For other colours, returns the value, such as `255, 0, 0`. */
function colour(name: string | null | undefined, value: string | null | undefined): string | null {
  if (!name || !value) return null
  return BASIC.test(name) ? `var(--${name})` : `rgb(${value})`
}

/**
 * Converts the positions of `styles` from characters to code units: in JavaScript an emoji has two code
 * units.
 */
export function inCodeUnits(text: string, styles: readonly TextStyle[]): readonly TextStyle[] {
  if (!/[\ud800-\udbff]/.test(text)) return styles
  const places = [0]
  for (const character of text) places.push((places.at(-1) ?? 0) + character.length)
  const at = (index: number) => places[index] ?? text.length
  return styles.map(([start, end, code]) => [at(start), at(end), code])
}

/**
 * Splits the text into pieces with one style each. `offset` is the position of the text in the whole output.
 * Positions of `styles` are code units from the beginning of the whole output.
 */
export function styledPieces(text: string, styles: readonly TextStyle[], offset = 0): StyledPiece[] {
  const found: StyledPiece[] = []
  let at = 0
  for (const [start, end, code] of styles) {
    const from = Math.max(start - offset, at)
    const to = Math.min(end - offset, text.length)
    if (to <= from) continue
    if (from > at) found.push({ text: text.slice(at, from), styleProps: null })
    found.push({ text: text.slice(from, to), styleProps: stylePropsOf(code) })
    at = to
  }
  if (at < text.length) found.push({ text: text.slice(at), styleProps: null })
  return found
}
