/** What the server says in the fragment when it sends the browser back: `#refused=CODE`, `#connected=NAME`. */
export function toldInAddress(name: 'refused' | 'connected'): string | null {
  return new URLSearchParams(window.location.hash.slice(1)).get(name)
}

/** Takes the fragment out of the address bar and the history, so that a reload does not show it again. */
export function clearFragment(): void {
  window.history.replaceState(window.history.state, '', window.location.pathname + window.location.search)
}
