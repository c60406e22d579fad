import { useCallback, useSyncExternalStore } from 'react'

/**
 * Returns the present time in milliseconds, rounded down to a multiple of `intervalMs`. The time is updated
 * every `intervalMs` while `isTicking` is true.
 */
export function useNow(isTicking: boolean, intervalMs = 1000): number {
  const subscribe = useCallback(
    (onTick: () => void) => {
      if (!isTicking) return () => {}
      const timer = setInterval(onTick, intervalMs)
      return () => clearInterval(timer)
    },
    [isTicking, intervalMs],
  )
  return useSyncExternalStore(subscribe, () => Math.floor(Date.now() / intervalMs) * intervalMs)
}
