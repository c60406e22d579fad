import Bowser from 'bowser'

/** "Chrome on Linux", from what the browser says of itself; null where that says nothing. */
export function nameOfBrowser(userAgent: string | null): string | null {
  if (!userAgent) return null
  const { browser, os } = Bowser.parse(userAgent)
  return [browser.name, os.name].filter(Boolean).join(' on ') || null
}
