import { useCallback, useSyncExternalStore } from 'react'

/** The present time in milliseconds, rounded down to whole `intervalMs`, and renewed as often while `isTicking`. */
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
