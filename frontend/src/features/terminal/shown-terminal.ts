import { FitAddon } from '@xterm/addon-fit'
import { Terminal } from '@xterm/xterm'
import '@xterm/xterm/css/xterm.css'
import { copyText } from '@/lib/browser/copy-text'
import { terminalColours } from './terminal-colours'
import { openTerminalSocket, type TerminalState } from './terminal-socket'

export interface ShownTerminalOptions {
  conversationId: string
  /** The accessible name of the terminal. */
  label: string
  onState: (state: TerminalState) => void
  /** Called when the user leaves the terminal with the keyboard: Tab goes to the program in it. */
  onLeave: () => void
}

export interface ShownTerminal {
  /** Takes the colours of the page's theme. */
  recolour: () => void
  close: () => void
}

const FONT_PIXELS = 13
const SCROLLBACK_LINES = 5_000
const READABLE_CONTRAST = 4.5
const STEADY_MS = 150
const MIN_COLUMNS = 20

/** Shows the terminal of a conversation in `element`, until it is closed. */
export function showTerminal(element: HTMLElement, options: ShownTerminalOptions): ShownTerminal {
  const terminal = new Terminal({
    fontFamily: getComputedStyle(element).fontFamily,
    fontSize: FONT_PIXELS,
    scrollback: SCROLLBACK_LINES,
    minimumContrastRatio: READABLE_CONTRAST,
    screenReaderMode: true,
    theme: terminalColours(element),
  })
  const fit = new FitAddon()
  terminal.loadAddon(fit)
  terminal.open(element)
  terminal.textarea?.setAttribute('aria-label', options.label)
  terminal.attachCustomKeyEventHandler((event) => handleKey(terminal, event, options.onLeave))

  // The first output after each connect is what was printed before. A question of a program in it, such as for
  // the kind of terminal, has been answered long ago.
  let isRepeated = false
  const socket = openTerminalSocket({
    conversationId: options.conversationId,
    onOpen: () => {
      isRepeated = true
      terminal.reset()
    },
    onOutput: (output) => terminal.write(output, () => (isRepeated = false)),
    onState: options.onState,
  })
  terminal.onData((text) => {
    if (!isRepeated) socket.type(text)
  })
  terminal.onResize(({ cols, rows }) => socket.resize({ columns: cols, rows }))
  fitInto(terminal, fit)
  socket.resize({ columns: terminal.cols, rows: terminal.rows })
  // While the page changes its layout, the element has many sizes one after the other. Each new size makes the
  // shell draw its prompt again.
  let timer: number | undefined
  const observer = new ResizeObserver(() => {
    window.clearTimeout(timer)
    timer = window.setTimeout(() => fitInto(terminal, fit), STEADY_MS)
  })
  observer.observe(element)
  return {
    recolour: () => {
      terminal.options.theme = terminalColours(element)
    },
    close: () => {
      observer.disconnect()
      window.clearTimeout(timer)
      socket.close()
      terminal.dispose()
    },
  }
}

/** Gives the terminal the size of its element, unless this is too narrow to read. */
function fitInto(terminal: Terminal, fit: FitAddon) {
  const size = fit.proposeDimensions()
  if (size !== undefined && size.cols >= MIN_COLUMNS) terminal.resize(size.cols, size.rows)
}

/** Returns false for keys that the page or the browser handles and that do not go to the program. */
function handleKey(terminal: Terminal, event: KeyboardEvent, onLeave: () => void): boolean {
  const isCommand = event.ctrlKey || event.metaKey
  const key = event.key.toLowerCase()
  if (event.shiftKey && event.key === 'Escape') {
    // Escape would also focus the composer, which may be behind a tab.
    event.stopPropagation()
    if (event.type === 'keydown') onLeave()
    return false
  }
  // With a selection, the keys copy. Without one, Ctrl+C interrupts the program.
  if (isCommand && key === 'c' && terminal.hasSelection()) {
    if (event.type === 'keydown') void copyText(terminal.getSelection()).then(() => terminal.clearSelection())
    return false
  }
  return !(isCommand && key === 'v') // the browser pastes
}
