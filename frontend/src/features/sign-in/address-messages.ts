/**
 * Returns a message that the server puts into the fragment of the address when it sends the browser back:
 * `#refused=CODE` or `#connected=NAME`. Returns null if there is no such message.
 */
export function addressMessage(name: 'refused' | 'connected'): string | null {
  return new URLSearchParams(window.location.hash.slice(1)).get(name)
}

/** Removes the fragment from the address bar and the history, so that a reload does not show the message again. */
export function clearFragment(): void {
  window.history.replaceState(window.history.state, '', window.location.pathname + window.location.search)
}
