import type { TextContent } from '@/api/types'

const OPENING = /^<path_rule name=("(?:[^"\\]|\\.)*")>/

/** Returns the names of the path rules that the agent got with the result of a tool. */
export function pathRuleNames(parts: readonly TextContent[] | undefined): string[] {
  return (parts ?? []).flatMap(({ text }) => {
    const quoted = OPENING.exec(text)?.[1]
    return quoted === undefined ? [] : [nameIn(quoted)]
  })
}

function nameIn(quoted: string): string {
  try {
    return String(JSON.parse(quoted))
  } catch {
    // The text is not valid JSON. A sandbox may send any data.
    return quoted
  }
}
