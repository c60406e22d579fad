/**
 * Returns a JSON value of the local storage. Returns null if it is missing or unreadable, or if storage is
 * blocked.
 */
export function readStored(key: string): unknown {
  try {
    return JSON.parse(localStorage.getItem(key) ?? 'null')
  } catch {
    return null
  }
}

/** Stores a JSON value. Does nothing if the storage is full or blocked. */
export function writeStored(key: string, value: unknown): void {
  try {
    localStorage.setItem(key, JSON.stringify(value))
  } catch {
    return
  }
}
