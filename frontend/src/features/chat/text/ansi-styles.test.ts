import { readFileSync } from 'node:fs'
import type { TextStyle } from '@/events/wire/types'
import { describe, expect, it } from 'vitest'
import { inCodeUnits, stylePropsOf, styledPieces } from './ansi-styles'

describe('the look of a style', () => {
  it.each([
    ['1;31', 'font-semibold', { '--ansi-front': 'var(--ansi-red)' }],
    ['92;44', '', { '--ansi-front': 'var(--ansi-bright-green)', '--ansi-back': 'var(--ansi-blue)' }],
    ['38;5;208', '', { '--ansi-front': 'rgb(255, 135, 0)' }],
    ['38;2;1;2;3', '', { '--ansi-front': 'rgb(1, 2, 3)' }],
    ['3;4;9', 'italic underline line-through', {}],
    ['7', 'ansi-inverse', {}],
  ])('of %s', (code, className, style) => {
    expect(stylePropsOf(code)?.style).toEqual(style)
    for (const name of className.split(' ')) expect(stylePropsOf(code)?.className).toContain(name)
  })

  it('is none for what is no style', () => {
    expect(stylePropsOf('<secret-hidden>')).toBeNull()
  })
})

describe('styled text', () => {
  it('is cut where its look changes, from where it is shown', () => {
    const styles: TextStyle[] = [
      [0, 3, '31'],
      [4, 9, '32'],
    ]
    const shown = styledPieces('ne two end', styles, 1)
    expect(shown.map(({ text }) => text)).toEqual(['ne', ' ', 'two e', 'nd'])
    expect(shown.map(({ styleProps }) => styleProps !== null)).toEqual([true, false, true, false])
  })

  it('stays whole whatever the styles say', () => {
    const styles: TextStyle[] = [
      [5, 2, '31'],
      [1, 99, '31'],
      [0, 3, '32'],
    ]
    expect(
      styledPieces('text', styles)
        .map(({ text }) => text)
        .join(''),
    ).toBe('text')
  })

  it('counts an emoji as one character', () => {
    const text = '🎨 red'
    expect(inCodeUnits(text, [[2, 5, '31']])).toEqual([[3, 6, '31']])
  })
})

const css = readFileSync('src/features/chat/text/ansi.css', 'utf8')
const tokens = readFileSync('src/styles.css', 'utf8')
const THEMES = ['light', 'dark'] as const
const NAMES = [...css.matchAll(/--ansi-([a-z-]+): light-dark/g)].map((found) => found[1] ?? '')

it.each(THEMES.flatMap((theme) => NAMES.map((name) => [name, theme] as const)))(
  '%s can be read in the %s theme',
  (name, theme) => {
    const ratio = contrast(token(css, `ansi-${name}`, theme), token(tokens, 'sunken', theme))
    expect(ratio).toBeGreaterThanOrEqual(4.5)
  },
)

function token(source: string, name: string, theme: 'light' | 'dark'): string {
  const found = new RegExp(`--${name}: light-dark\\((#\\w+), (#\\w+)\\)`).exec(source)
  return found?.[theme === 'light' ? 1 : 2] ?? ''
}

function contrast(one: string, other: string): number {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (lighter + 0.05) / (darker + 0.05)
}

function luminance(hex: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255
    return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
