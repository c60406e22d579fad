const KEY = 'slipway.after-sign-in'
const PATHS = ['/device']

/** Notes the page that a signed-out user wanted, if it is one that others link to. A sign-in leads back there. */
export function noteDestination({ pathname, search }: { pathname: string; search: string }): void {
  if (PATHS.includes(pathname)) sessionStorage.setItem(KEY, pathname + search)
}

/** The noted page, once. */
export function takeDestination(): string | null {
  const noted = sessionStorage.getItem(KEY)
  sessionStorage.removeItem(KEY)
  return noted
}
