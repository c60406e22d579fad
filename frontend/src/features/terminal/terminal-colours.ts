import type { ITheme } from '@xterm/xterm'

/** The variables of the page's theme for the colours of the terminal. */
const VARIABLES = {
  background: '--surface',
  foreground: '--text',
  cursor: '--accent',
  cursorAccent: '--surface',
  selectionBackground: '--accent-soft',
  black: '--faint',
  red: '--danger',
  green: '--success',
  yellow: '--warning',
  blue: '--accent',
  magenta: '--accent-strong',
  cyan: '--accent-mark',
  white: '--muted',
  brightBlack: '--muted',
  brightRed: '--danger',
  brightGreen: '--success-mark',
  brightYellow: '--signal',
  brightBlue: '--accent-mark',
  brightMagenta: '--accent-strong',
  brightCyan: '--accent-mark',
  brightWhite: '--text',
} satisfies Partial<Record<keyof ITheme, string>>

/** Returns the colours of the page's present theme. The terminal does not understand CSS variables. */
export function terminalColours(element: HTMLElement): ITheme {
  const probe = document.createElement('span')
  element.append(probe)
  const colours = Object.entries(VARIABLES).map(([name, variable]) => {
    probe.style.color = `var(${variable})`
    return [name, getComputedStyle(probe).color]
  })
  probe.remove()
  return Object.fromEntries(colours) as ITheme
}
