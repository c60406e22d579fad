import type { TextContent } from '@/api/types'

const OPENING = /^<path_rule name=("(?:[^"\\]|\\.)*")>/

/** Returns the names of the rules that a result has given to the agent. */
export function givenRules(parts: readonly TextContent[] | undefined): string[] {
  return (parts ?? []).flatMap(({ text }) => {
    const quoted = OPENING.exec(text)?.[1]
    return quoted === undefined ? [] : [nameIn(quoted)]
  })
}

function nameIn(quoted: string): string {
  try {
    return String(JSON.parse(quoted))
  } catch {
    // A sandbox may send any data.
    return quoted
  }
}
