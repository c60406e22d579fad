/**
 * Returns the midnight that is `later` days after a day such as `2026-01-31`, in the time zone of the
 * browser. Returns undefined if `day` is not a day.
 */
function midnight(day: string, later: number): string | undefined {
  const [year, month, date] = day.split('-').map(Number)
  if (!year || !month || !date) return undefined
  return new Date(year, month - 1, date + later).toISOString()
}

export function startOfDay(day: string): string | undefined {
  return midnight(day, 0)
}

export function nextDayOf(day: string): string | undefined {
  return midnight(day, 1)
}

/** Returns the day of a time, plus `later` days, in the format of a date field. */
export function dayOf(iso: string, later = 0): string {
  const time = new Date(iso)
  const day = new Date(time.getFullYear(), time.getMonth(), time.getDate() + later)
  const parts = [day.getFullYear(), day.getMonth() + 1, day.getDate()]
  return parts.map((part) => String(part).padStart(2, '0')).join('-')
}
