import { act, renderHook } from '@testing-library/react'
import { afterEach, expect, it, vi } from 'vitest'
import { useAutoScroll } from './use-auto-scroll'

const box = { scrollTop: 0, scrollHeight: 1000, clientHeight: 200 }

function follow(isAtNow = true) {
  const resized = new Map<Element, () => void>()
  vi.stubGlobal(
    'ResizeObserver',
    class {
      constructor(private readonly callback: () => void) {}
      observe = (element: Element) => resized.set(element, this.callback)
      disconnect = () => resized.clear()
    },
  )
  const [scroller, content] = [document.createElement('div'), document.createElement('div')]
  for (const name of ['scrollTop', 'scrollHeight', 'clientHeight'] as const)
    Object.defineProperty(scroller, name, { get: () => box[name] })
  const scrollToEnd = vi.fn()
  const hook = renderHook(() =>
    useAutoScroll({ current: scroller }, { current: content }, { scrollToEnd } as never, 'last', isAtNow),
  )
  const scrollTo = (scrollTop: number, scrollHeight = box.scrollHeight) => {
    Object.assign(box, { scrollTop, scrollHeight })
    act(() => hook.result.current.handleScroll())
  }
  return { hook, scrollTo, scrollToEnd, resize: (of: 'content') => of && resized.get(content)?.() }
}

afterEach(() => vi.unstubAllGlobals())

it('stays at the end when rows go and come back', () => {
  const { hook, scrollTo, scrollToEnd, resize } = follow()
  scrollTo(800, 1000)
  scrollTo(0, 300) // most rows are removed, so the browser has to scroll up
  box.scrollHeight = 1000 // the rows come back
  resize('content')
  expect(scrollToEnd).toHaveBeenCalledTimes(1)
  expect(hook.result.current.leftAt).toBeNull()
})

it('leaves the reader alone who has scrolled up', () => {
  const { hook, scrollTo, scrollToEnd, resize } = follow()
  scrollTo(800, 1000)
  scrollTo(300, 1000)
  resize('content')
  expect(scrollToEnd).not.toHaveBeenCalled()
  expect(hook.result.current.leftAt).toBe('last')
})

it('does not follow the end of a part of the log', () => {
  const { scrollTo, scrollToEnd, resize } = follow(false)
  scrollTo(800, 1000)
  box.scrollHeight = 2000 // the next part of the content arrives
  resize('content')
  expect(scrollToEnd).not.toHaveBeenCalled()
})
