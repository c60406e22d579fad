const MILLION = 1_000_000

/** Returns the price in dollars per million tokens, as price lists show it. */
export function pricePerMillion(perToken: number | null | undefined) {
  // Prices have fewer than ten digits. Rounding to ten digits removes the errors of floating-point division.
  return perToken == null ? '' : Number((perToken * MILLION).toPrecision(10)).toString()
}

/** Returns the cost per token. Returns null if the text is empty. 0 is a valid price. */
export function costPerToken(text: string) {
  const entered = numberOf(text)
  return entered === null ? null : entered / MILLION
}

/** Reads a number with a decimal point or a decimal comma. Returns null if the text is empty. */
export function numberOf(text: string) {
  return text.trim() ? Number(text.trim().replace(',', '.')) : null
}
