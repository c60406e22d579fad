/** Reads headers with `Name: value` on each line. Returns undefined if a line is not a header. */
export function parseHeaders(text: string): Record<string, string> | undefined {
  const headers: Record<string, string> = {}
  for (const line of text.split('\n').filter((each) => each.trim())) {
    const [, name, value] = /^\s*([^\s:]+)\s*:\s*(\S.*?)\s*$/.exec(line) ?? []
    if (name === undefined || value === undefined) return undefined
    headers[name] = value
  }
  return headers
}

/**
 * Reads a JSON object. An empty text gives an empty object. Returns undefined if the text is not a JSON
 * object.
 */
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
