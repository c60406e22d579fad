/**
 * Parts of the page are loaded when they are first needed. One that does not arrive, because a newer version was
 * deployed or a network came or went, is fetched by a reload: browsers remember for good that a part has failed.
 */
const KEY = 'slipway.reloaded_at'
/** Within it, a part that is still missing is left to the panel that shows the error. */
const PAUSE_MS = 60_000

export interface ReloadEnvironment {
  now: () => number
  reload: () => void
  /** Whether there is a server to reload from: its absence would leave the browser's own error page. */
  isServerThere: () => Promise<boolean>
}

/** What was thrown for parts that did not arrive. */
const missingParts = new WeakSet<object>()

/** Whether `error` says that a part of the page did not arrive: rendering again gives the same error for good. */
export function isMissingPart(error: unknown): boolean {
  return typeof error === 'object' && error !== null && missingParts.has(error)
}

/** Fetches the page anew, if there is a server to fetch it from. Returns whether there is. */
export async function reloadIfServerThere(environment: Partial<ReloadEnvironment> = {}): Promise<boolean> {
  const { reload, isServerThere } = { ...browserEnvironment, ...environment }
  const isThere = await isServerThere()
  if (isThere) reload()
  return isThere
}

/** Returns the function that ends the listening. */
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

/** Of this tab; where storage is blocked it is always just now, since nothing else would end the reloading. */
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
