/**
 * Returns a message from the fragment of the address: `#refused=CODE` or `#connected=NAME`. The app server
 * adds the fragment when it redirects the browser back. Returns null if there is no such message.
 */
export function addressMessage(name: 'refused' | 'connected'): string | null {
  return new URLSearchParams(window.location.hash.slice(1)).get(name)
}

/**
 * Removes the fragment from the address bar and the history, so that a reload does not show the message
 * again.
 */
export function clearFragment(): void {
  window.history.replaceState(window.history.state, '', window.location.pathname + window.location.search)
}
