let pending: string | null = null

/**
 * The one-time token of `#token=…`. The first call takes it out of the address bar and the history,
 * so that it is neither seen, shared nor sent again; later calls return the same token.
 */
export function takeLinkToken(): string | null {
  const token = new URLSearchParams(window.location.hash.slice(1)).get('token')
  if (token) {
    pending = token
    window.history.replaceState(window.history.state, '', window.location.pathname + window.location.search)
  }
  return pending
}

/** After use the token is worth nothing. */
export function forgetLinkToken(): void {
  pending = null
}
