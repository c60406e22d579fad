import type { Virtualizer } from '@tanstack/react-virtual'
import { useCallback, useLayoutEffect, useRef, useState, type RefObject } from 'react'

/** The distance in pixels from the end that still counts as the end. */
export const AT_END_PX = 60

export interface AutoScroll {
  /** The last row at the moment when the user left the end. Null while the view follows the end. */
  leftAt: string | null
  handleScroll: () => void
  /** Stops following the end. It must be called before something else is scrolled to. */
  leave: () => void
}

/**
 * Keeps a list at its end until the user scrolls up. Only scrolling up stops this. The distance to the end
 * also grows when the window is resized, or when rows are measured again or come back. In these cases the
 * list continues to follow the end.
 *
 * `content` is the element that the scroller scrolls. Its height changes, while the height of the scroller
 * stays the same. `isAtNow` says whether the last row is the newest event. The end of a passage of the log is
 * not followed.
 */
export function useAutoScroll(
  scroller: RefObject<HTMLElement | null>,
  content: RefObject<HTMLElement | null>,
  virtualizer: Virtualizer<HTMLDivElement, Element>,
  lastKey: string,
  isAtNow: boolean,
): AutoScroll {
  const [leftAt, setLeftAt] = useState<string | null>(null)
  const isFollowing = useRef(true)
  const lastTop = useRef(0)
  const lastHeight = useRef(0)

  function handleScroll() {
    const element = scroller.current
    if (element === null) return
    // The value is read from the page, because the virtualizer receives this scroll event later than this
    // code.
    const top = element.scrollTop
    const isAtEnd = element.scrollHeight - element.clientHeight - top <= AT_END_PX
    if (isAtEnd) isFollowing.current = isAtNow
    // If the content has become shorter, the browser or the list has scrolled, and not the user.
    else if (top < lastTop.current && element.scrollHeight >= lastHeight.current) isFollowing.current = false
    lastTop.current = top
    lastHeight.current = element.scrollHeight
    setLeftAt((before) => (isFollowing.current ? null : (before ?? lastKey)))
  }

  useLayoutEffect(() => {
    if (scroller.current === null || content.current === null) return
    const observer = new ResizeObserver(() => {
      if (isFollowing.current) virtualizer.scrollToEnd()
    })
    observer.observe(scroller.current)
    observer.observe(content.current)
    return () => observer.disconnect()
  }, [scroller, content, virtualizer])

  const leave = useCallback(() => {
    isFollowing.current = false
  }, [])

  return { leftAt, handleScroll, leave }
}
