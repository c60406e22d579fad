import { useEffect, type RefObject } from 'react'

const NAME = 'find'
const WORD = /[\p{L}\p{N}]+/gu

/**
 * Marks the searched words in the rows that are in the page. Does nothing if the browser does not support
 * this.
 */
export function useHighlights(content: RefObject<HTMLElement | null>, words: string) {
  useEffect(() => {
    const pattern = patternOf(words)
    const element = content.current
    if (pattern === null || element === null || typeof CSS === 'undefined' || !('highlights' in CSS)) return
    let frame = 0
    const mark = () => CSS.highlights.set(NAME, new Highlight(...rangesOf(element, pattern)))
    const observer = new MutationObserver(() => {
      cancelAnimationFrame(frame)
      frame = requestAnimationFrame(mark)
    })
    mark()
    observer.observe(element, { childList: true, subtree: true, characterData: true })
    return () => {
      observer.disconnect()
      cancelAnimationFrame(frame)
      CSS.highlights.delete(NAME)
    }
  }, [content, words])
}

/**
 * Returns the pattern of the words, with the rules of the server. A single letter matches only itself. Other
 * words also match the beginning of longer words.
 */
function patternOf(words: string): RegExp | null {
  const wanted = words.match(WORD)
  if (wanted === null) return null
  const parts = wanted.map((word) =>
    word.length === 1 ? `${word}(?![\\p{L}\\p{N}])` : `${word}[\\p{L}\\p{N}]*`,
  )
  return new RegExp(`(?<![\\p{L}\\p{N}])(?:${parts.join('|')})`, 'giu')
}

function rangesOf(element: HTMLElement, pattern: RegExp): Range[] {
  const ranges: Range[] = []
  const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT)
  while (texts.nextNode()) {
    const node = texts.currentNode
    for (const match of (node.nodeValue ?? '').matchAll(pattern)) {
      const range = document.createRange()
      range.setStart(node, match.index)
      range.setEnd(node, match.index + match[0].length)
      ranges.push(range)
    }
  }
  return ranges
}
