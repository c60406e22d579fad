const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['week', 604_800],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
]

/**
 * Formats the age of an ISO time, such as "5 min. ago". Times within the last minute read "now". Times in the
 * future read "now", too, because clocks differ.
 */
export function formatAge(iso: string, now = Date.now(), locale?: string): string {
  const format = new Intl.RelativeTimeFormat(locale, { numeric: 'auto', style: 'narrow' })
  const seconds = Math.max(0, (now - Date.parse(iso)) / 1000)
  const unit = UNITS.find(([, size]) => seconds >= size)
  return unit ? format.format(-Math.floor(seconds / unit[1]), unit[0]) : format.format(0, 'second')
}

/** Formats the full local date and time, for titles and tooltips. */
export function formatDateTime(iso: string, locale?: string): string {
  return new Date(iso).toLocaleString(locale, { dateStyle: 'medium', timeStyle: 'short' })
}

/** Formats a length in milliseconds: "640 ms", "4.2 s", "3 m 05 s". */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`
  const seconds = Math.round(ms / 1000)
  return `${Math.floor(seconds / 60)} m ${String(seconds % 60).padStart(2, '0')} s`
}

/** Formats a length that still grows, in whole seconds: "0 s", "42 s", "3 m 05 s". */
export function formatElapsed(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  return seconds < 60 ? `${seconds} s` : formatDuration(seconds * 1000)
}
