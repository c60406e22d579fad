import { useLayoutEffect, useRef, type RefObject } from 'react'

/** For a navigation that may scroll sideways: brings its current link into the middle. */
export function useScrolledToCurrent(current: string | undefined): RefObject<HTMLElement | null> {
  const navigation = useRef<HTMLElement>(null)
  useLayoutEffect(() => {
    const element = navigation.current
    const link = element?.querySelector('[aria-current=page]')
    if (!element || !link) return
    const [frame, place] = [element.getBoundingClientRect(), link.getBoundingClientRect()]
    element.scrollLeft += place.left + place.width / 2 - (frame.left + frame.width / 2)
  }, [current])
  return navigation
}
