const MILLION = 1_000_000

/** As people read it in price lists: dollars per million tokens. */
export function pricePerMillion(perToken: number | null | undefined) {
  // Ten digits: more than any price has, fewer than show how computers divide.
  return perToken == null ? '' : Number((perToken * MILLION).toPrecision(10)).toString()
}

/** Null where nothing was entered; 0 is a price, too. */
export function costPerToken(text: string) {
  const entered = numberOf(text)
  return entered === null ? null : entered / MILLION
}

/** A number as people type it, with a point or a comma; null where nothing was entered. */
export function numberOf(text: string) {
  return text.trim() ? Number(text.trim().replace(',', '.')) : null
}
