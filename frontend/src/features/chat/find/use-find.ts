import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { matchCountQuery, matchesQuery, type EventMatch } from '@/api/conversations/find'
import { useDebounced } from '@/lib/hooks/use-debounced'

const DELAY_MS = 200

export interface Find {
  text: string
  setText: (text: string) => void
  /** The searched text. It is updated when the user has stopped typing. */
  words: string
  /** The match that is shown now. */
  match: EventMatch | null
  /** The number of the shown match, counted from the newest match. */
  number: number
  /** The number of all matches. Null while it is not known. */
  count: number | null
  error: unknown
  showOlder: () => void
  showNewer: () => void
}

/** The search within one conversation. It starts with the newest match. */
export function useFind(conversationId: string, isOpen: boolean): Find {
  const [text, setText] = useState('')
  const settled = useDebounced(text.trim(), DELAY_MS)
  const words = isOpen ? settled : ''
  const [position, setPosition] = useState({ words, index: 0 })
  const index = position.words === words ? position.index : 0
  const pages = useInfiniteQuery(matchesQuery(conversationId, words))
  const total = useQuery(matchCountQuery(conversationId, words))
  const matches = words === '' ? [] : (pages.data?.pages.flatMap((page) => page.matches) ?? [])
  const count = matches.length === 0 && pages.data ? 0 : (total.data ?? null)

  function showOlder() {
    if (index >= matches.length) return
    if (index + 1 < matches.length || pages.hasNextPage) setPosition({ words, index: index + 1 })
    // The next page is loaded before the user needs it.
    if (index + 2 >= matches.length && pages.hasNextPage && !pages.isFetching) void pages.fetchNextPage()
  }

  return {
    text,
    setText,
    words,
    match: matches[index] ?? null,
    number: index + 1,
    count,
    error: pages.error ?? total.error,
    showOlder,
    showNewer: () => setPosition({ words, index: Math.max(0, index - 1) }),
  }
}
