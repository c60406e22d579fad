import { useEffect } from 'react'

export interface ReplayKeys {
  toggle: () => void
  stepBy: (steps: number) => void
  toStart: () => void
  toEnd: () => void
}

/**
 * Returns whether the focused element uses the key. A slider uses the arrow keys, and a button uses Space.
 */
function isTaken(event: KeyboardEvent): boolean {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return true
  if (!(event.target instanceof HTMLElement)) return false
  if (event.target.closest('[role=dialog], [role=menu], textarea, select, [contenteditable=true]'))
    return true
  const isSlider = event.target instanceof HTMLInputElement && event.target.type === 'range'
  if (isSlider) return event.key !== ' '
  if (event.target.closest('input')) return true
  return event.key === ' ' && event.target.closest('button, a, summary') !== null
}

/**
 * The keys of the replay: Space plays and pauses, the arrow keys go one step, and Home and End go to the
 * ends. They work anywhere in the page.
 */
export function useReplayKeys({ toggle, stepBy, toStart, toEnd }: ReplayKeys): void {
  useEffect(() => {
    const actions: Record<string, () => void> = {
      ' ': toggle,
      ArrowLeft: () => stepBy(-1),
      ArrowRight: () => stepBy(1),
      Home: toStart,
      End: toEnd,
    }
    function handleKey(event: KeyboardEvent) {
      const action = actions[event.key]
      if (action === undefined || isTaken(event)) return
      event.preventDefault()
      action()
    }
    window.addEventListener('keydown', handleKey)
    return () => window.removeEventListener('keydown', handleKey)
  }, [toggle, stepBy, toStart, toEnd])
}
