let pending: string | null = null

/**
 * Returns the one-time token of `#token=…`. The first call removes it from the address bar and the history,
 * so that it cannot be seen, shared or sent again. Later calls return the same token.
 */
export function takeLinkToken(): string | null {
  const token = new URLSearchParams(window.location.hash.slice(1)).get('token')
  if (token) {
    pending = token
    window.history.replaceState(window.history.state, '', window.location.pathname + window.location.search)
  }
  return pending
}

/** Forgets the token. A used token is not valid any more. */
export function forgetLinkToken(): void {
  pending = null
}
