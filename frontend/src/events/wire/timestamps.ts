/** Milliseconds of a wire timestamp. Agent servers write UTC without saying so; others carry an offset. */
export function timestampMs(timestamp: string): number {
  const hasZone = /(?:Z|[+-]\d\d:?\d\d)$/.test(timestamp)
  return Date.parse(hasZone ? timestamp : `${timestamp}Z`)
}
