/**
 * Reads an amount with a decimal point or a decimal comma. Returns null if there is no amount, or if it is 0.
 */
export function parseDollars(text: string): number | null {
  return Number(text.trim().replace(',', '.')) || null
}
