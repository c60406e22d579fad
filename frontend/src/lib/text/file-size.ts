const UNITS = ['kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const

/** Formats a number of bytes in the language `locale`, with units of 1,000 bytes: for example `1.3 MB`. */
export function fileSize(bytes: number, locale: string): string {
  // The unit `byte` has no short form in most languages.
  if (bytes < 1000) return `${bytes.toLocaleString(locale)} B`
  const power = Math.min(Math.floor(Math.log10(bytes) / 3), UNITS.length)
  return new Intl.NumberFormat(locale, {
    style: 'unit',
    unit: UNITS[power - 1],
    maximumFractionDigits: 1,
  }).format(bytes / 1000 ** power)
}
