/** Converts a terminal's styles to styles of the page. See ansi.css for the colours. */
import Anser from 'anser'
import type { CSSProperties } from 'react'
import type { TextStyle } from '@/events/wire/types'

export interface Look {
  className: string
  style?: CSSProperties
}

/** A piece of text with one style. `look` is null if the style is unknown or missing. */
export interface Piece {
  text: string
  look: Look | null
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
const known = new Map<string, Look>()

/**
 * Returns the look for a style. `code`: the parameters of an escape sequence, as in `1;31`. Returns null for unknown
 * codes.
 */
export function lookOf(code: string): Look | null {
  const remembered = known.get(code)
  if (remembered !== undefined) return remembered
  if (!/^[\d;]+$/.test(code)) return null
  const look = toLook(code)
  if (known.size >= REMEMBERED) known.clear()
  known.set(code, look)
  return look
}

function toLook(code: string): Look {
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

/** Returns the name of one of our own colours, or else the value, as in `255, 0, 0`. */
function colour(name: string | null | undefined, value: string | null | undefined): string | null {
  if (!name || !value) return null
  return BASIC.test(name) ? `var(--${name})` : `rgb(${value})`
}

/** Converts the positions of `styles` from characters to code units: in JavaScript an emoji has two code units. */
export function inCodeUnits(text: string, styles: readonly TextStyle[]): readonly TextStyle[] {
  if (!/[\ud800-\udbff]/.test(text)) return styles
  const places = [0]
  for (const character of text) places.push((places.at(-1) ?? 0) + character.length)
  const at = (index: number) => places[index] ?? text.length
  return styles.map(([start, end, code]) => [at(start), at(end), code])
}

/**
 * Cuts the text from `offset` on into pieces with one look each. Positions of `styles` are code units from the
 * beginning.
 */
export function pieces(text: string, styles: readonly TextStyle[], offset = 0): Piece[] {
  const found: Piece[] = []
  let at = 0
  for (const [start, end, code] of styles) {
    const from = Math.max(start - offset, at)
    const to = Math.min(end - offset, text.length)
    if (to <= from) continue
    if (from > at) found.push({ text: text.slice(at, from), look: null })
    found.push({ text: text.slice(from, to), look: lookOf(code) })
    at = to
  }
  if (at < text.length) found.push({ text: text.slice(at), look: null })
  return found
}
