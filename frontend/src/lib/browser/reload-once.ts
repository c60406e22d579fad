/**
 * Parts of the page are loaded when they are first needed. A part can fail to load because a newer version
 * was deployed, or because a network appeared or disappeared. Browsers remember this failure until the page
 * is reloaded, so the page reloads itself.
 */
const KEY = 'slipway.reloaded_at'
/**
 * If a reload happened within this time, the page does not reload again. The panel of the missing part shows
 * the error.
 */
const PAUSE_MS = 60_000

export interface ReloadEnvironment {
  now: () => number
  reload: () => void
  /** Returns whether a server answers. Without a server, a reload would show the browser's error page. */
  isServerThere: () => Promise<boolean>
}

/** The errors that were thrown for parts that could not be loaded. */
const missingParts = new WeakSet<object>()

/**
 * Returns whether `error` means that a part of the page could not be loaded. Rendering the part again gives
 * the same error.
 */
export function isMissingPart(error: unknown): boolean {
  return typeof error === 'object' && error !== null && missingParts.has(error)
}

/** Reloads the page if a server answers. Returns whether a server answers. */
export async function reloadIfServerThere(environment: Partial<ReloadEnvironment> = {}): Promise<boolean> {
  const { reload, isServerThere } = { ...browserEnvironment, ...environment }
  const isThere = await isServerThere()
  if (isThere) reload()
  return isThere
}

/** Reloads the page when a part is missing, at most once per pause. Returns the function that stops this. */
export function reloadOnceForMissingParts(environment: Partial<ReloadEnvironment> = {}): () => void {
  const { now, reload, isServerThere } = { ...browserEnvironment, ...environment }
  const handleMissing = (event: Event) => {
    const { payload } = event as Event & { payload?: unknown }
    if (typeof payload === 'object' && payload !== null) missingParts.add(payload)
    if (now() - lastReload() < PAUSE_MS) return
    void isServerThere().then((isThere) => {
      if (isThere && remember(now())) reload()
    })
  }
  window.addEventListener('vite:preloadError', handleMissing)
  return () => window.removeEventListener('vite:preloadError', handleMissing)
}

/**
 * Returns the time of the last reload in this tab. If storage is blocked, returns infinity, which prevents
 * all reloads.
 */
function lastReload(): number {
  try {
    return Number(sessionStorage.getItem(KEY))
  } catch {
    return Infinity
  }
}

function remember(moment: number): boolean {
  try {
    sessionStorage.setItem(KEY, String(moment))
    return true
  } catch {
    return false
  }
}

const browserEnvironment: ReloadEnvironment = {
  now: () => Date.now(),
  reload: () => window.location.reload(),
  isServerThere: () =>
    fetch('/alive', { cache: 'no-store' }).then(
      (reply) => reply.ok,
      () => false,
    ),
}
