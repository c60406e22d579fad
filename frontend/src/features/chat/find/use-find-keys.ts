import { useEffect, type RefObject } from 'react'

/**
 * The keys of the search. Ctrl+F (Cmd+F) in the chat opens our search, because the browser's search finds
 * only text that is in the page. In the field of our search, the key opens the browser's search. Escape in
 * the search or in the timeline closes our search.
 */
export function useFindKeys(
  chat: RefObject<HTMLElement | null>,
  isOpen: boolean,
  onOpen: () => void,
  onClose: () => void,
) {
  useEffect(() => {
    function handleKeyDown(event: KeyboardEvent) {
      const target = event.target instanceof Element ? event.target : document.body
      const isInChat = chat.current?.contains(target) === true
      if (event.defaultPrevented || !(isInChat || target === document.body)) return
      const isInSearch = target.closest('[role=search]') !== null
      if (isFind(event) && !isInSearch) {
        event.preventDefault()
        onOpen()
      }
      if (event.key === 'Escape' && isOpen && (isInSearch || target.closest('[role=log]') !== null)) {
        event.preventDefault()
        onClose()
      }
    }
    window.addEventListener('keydown', handleKeyDown)
    return () => window.removeEventListener('keydown', handleKeyDown)
  }, [chat, isOpen, onOpen, onClose])
}

function isFind(event: KeyboardEvent): boolean {
  return (
    event.key.toLowerCase() === 'f' && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey
  )
}
