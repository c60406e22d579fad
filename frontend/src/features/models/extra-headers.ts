/** `Name: value` on each line as headers by their names; undefined where a line is not one. */
export function parseHeaders(text: string): Record<string, string> | undefined {
  const headers: Record<string, string> = {}
  for (const line of text.split('\n').filter((each) => each.trim())) {
    const [, name, value] = /^\s*([^\s:]+)\s*:\s*(\S.*?)\s*$/.exec(line) ?? []
    if (name === undefined || value === undefined) return undefined
    headers[name] = value
  }
  return headers
}

/** A JSON object as it was typed, nothing typed being an empty one; undefined where it is none. */
export function parseBody(text: string): Record<string, unknown> | undefined {
  if (!text.trim()) return {}
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)
      ? (parsed as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}
