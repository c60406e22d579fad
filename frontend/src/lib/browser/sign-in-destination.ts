const KEY = 'slipway.after-sign-in'
const PATHS = ['/device']

/** Stores the page that a signed-out user has opened, if the page must be shown again after the sign-in. */
export function storeDestination({ pathname, search }: { pathname: string; search: string }): void {
  if (PATHS.includes(pathname)) sessionStorage.setItem(KEY, pathname + search)
}

/** Returns the stored page and removes it. Returns null if there is none. */
export function takeDestination(): string | null {
  const noted = sessionStorage.getItem(KEY)
  sessionStorage.removeItem(KEY)
  return noted
}
