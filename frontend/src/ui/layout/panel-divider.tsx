import type { KeyboardEvent, PointerEvent } from 'react'

const STEP = 2
export const MIN_SHARE = 25
export const MAX_SHARE = 75

export interface PanelDividerProps {
  /** The accessible name of the divider. */
  label: string
  /** The share of the panel before the divider, in percent. */
  share: number
  onMove: (share: number) => void
  onReset: () => void
}

/**
 * A divider between two panels. The user drags it or moves it with the arrow keys. A double click resets its
 * position.
 */
export function PanelDivider({ label, share, onMove, onReset }: PanelDividerProps) {
  const move = (next: number) => onMove(Math.min(MAX_SHARE, Math.max(MIN_SHARE, next)))

  function handlePointerMove(event: PointerEvent<HTMLDivElement>) {
    const frame = event.currentTarget.parentElement
    if (!event.currentTarget.hasPointerCapture(event.pointerId) || !frame) return
    const box = frame.getBoundingClientRect()
    move(((event.clientX - box.left) / box.width) * 100)
  }

  function handleKeyDown(event: KeyboardEvent) {
    const moves = { ArrowLeft: share - STEP, ArrowRight: share + STEP, Home: MIN_SHARE, End: MAX_SHARE }
    const target = moves[event.key as keyof typeof moves]
    if (target === undefined) return
    event.preventDefault()
    move(target)
  }

  return (
    // A focusable separator is the ARIA pattern of a window splitter.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <div
      role="separator"
      aria-orientation="vertical"
      aria-label={label}
      aria-valuenow={Math.round(share)}
      aria-valuemin={MIN_SHARE}
      aria-valuemax={MAX_SHARE}
      // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
      tabIndex={0}
      onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
      onPointerMove={handlePointerMove}
      onKeyDown={handleKeyDown}
      onDoubleClick={onReset}
      className="relative w-px shrink-0 cursor-col-resize touch-none bg-border before:absolute before:inset-y-0 before:-left-1.5 before:w-3 hover:bg-accent focus-visible:bg-accent"
    />
  )
}
