import { useRef, useState, type KeyboardEvent, type PointerEvent, type ReactNode } from 'react'
import { readStored, writeStored } from '@/lib/stored'

const STEP = 2
const MIN = 25
const MAX = 75

export interface ResizablePanelsProps {
  /** Where the browser remembers the position of the divider. */
  storageKey: string
  /** The accessible name of the divider. */
  label: string
  start: ReactNode
  end: ReactNode
  /** Share of the first panel in percent, until the user moves it. */
  initial?: number
}

/** Two panels side by side with a divider to drag, or to move with the arrow keys; double click resets. */
export function ResizablePanels({ storageKey, label, start, end, initial = 50 }: ResizablePanelsProps) {
  const frame = useRef<HTMLDivElement>(null)
  const [share, setShare] = useState(() => readShare(storageKey) ?? initial)

  function move(next: number) {
    const clamped = Math.min(MAX, Math.max(MIN, next))
    setShare(clamped)
    writeStored(storageKey, clamped)
  }

  function handlePointerMove(event: PointerEvent<HTMLDivElement>) {
    if (!event.currentTarget.hasPointerCapture(event.pointerId) || !frame.current) return
    const box = frame.current.getBoundingClientRect()
    move(((event.clientX - box.left) / box.width) * 100)
  }

  function handleKeyDown(event: KeyboardEvent) {
    const target = { ArrowLeft: share - STEP, ArrowRight: share + STEP, Home: MIN, End: MAX }[event.key]
    if (target === undefined) return
    event.preventDefault()
    move(target)
  }

  return (
    <div ref={frame} className="flex h-full min-h-0">
      <div className="h-full min-w-0" style={{ width: `${share}%` }}>
        {start}
      </div>
      {/* A focusable separator is the ARIA pattern of a window splitter. */}
      {/* eslint-disable jsx-a11y/no-noninteractive-tabindex, jsx-a11y/no-noninteractive-element-interactions */}
      <div
        role="separator"
        aria-orientation="vertical"
        aria-label={label}
        aria-valuenow={Math.round(share)}
        aria-valuemin={MIN}
        aria-valuemax={MAX}
        tabIndex={0}
        onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
        onPointerMove={handlePointerMove}
        onKeyDown={handleKeyDown}
        onDoubleClick={() => move(initial)}
        className="relative w-px shrink-0 cursor-col-resize touch-none bg-border before:absolute before:inset-y-0 before:-left-1.5 before:w-3 hover:bg-accent focus-visible:bg-accent"
      />
      {/* eslint-enable jsx-a11y/no-noninteractive-tabindex, jsx-a11y/no-noninteractive-element-interactions */}
      <div className="h-full min-w-0 flex-1">{end}</div>
    </div>
  )
}

function readShare(storageKey: string): number | null {
  const stored = readStored(storageKey)
  return typeof stored === 'number' && stored >= MIN && stored <= MAX ? stored : null
}
