/**
 * Returns the milliseconds of a wire timestamp. Agent servers write UTC without an offset. Other timestamps
 * have an offset.
 */
export function timestampMs(timestamp: string): number {
  const hasZone = /(?:Z|[+-]\d\d:?\d\d)$/.test(timestamp)
  return Date.parse(hasZone ? timestamp : `${timestamp}Z`)
}
