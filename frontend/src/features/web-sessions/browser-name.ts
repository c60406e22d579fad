import Bowser from 'bowser'

/**
 * Returns the name of the browser and its system, such as "Chrome on Linux". Returns null if the user agent
 * does not contain a name.
 */
export function browserName(userAgent: string | null): string | null {
  if (!userAgent) return null
  const { browser, os } = Bowser.parse(userAgent)
  return [browser.name, os.name].filter(Boolean).join(' on ') || null
}
