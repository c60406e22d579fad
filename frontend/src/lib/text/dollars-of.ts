/** An amount as people type it, with a point or a comma; null for none. */
export function dollarsOf(text: string): number | null {
  return Number(text.trim().replace(',', '.')) || null
}
