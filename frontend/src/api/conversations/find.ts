import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { request } from '@/api/client'

/** A part of a passage. `is_match` is true if the part is a searched word. */
export interface MatchPart {
  text: string
  is_match: boolean
}

/** An event that contains the words of a search, and the passage with the words. */
export interface EventMatch {
  event_id: string
  seq: number
  passage: MatchPart[]
}

interface FoundPage {
  matches: EventMatch[]
  next_page_id: string | null
}

// The results of a search are not updated. Their numbers must not change while the user steps through them.
const CACHE_OPTIONS = { staleTime: Infinity, gcTime: 0, retry: 1 }
const PAGE_MATCHES = 20
const events = (conversationId: string) => `/api/v1/conversation/${conversationId}/events`

/** The events that contain all words of `words`, the newest first. Without a word, no request is sent. */
export function matchesQuery(conversationId: string, words: string) {
  return infiniteQueryOptions({
    ...CACHE_OPTIONS,
    queryKey: ['events', conversationId, 'matches', words],
    enabled: words !== '',
    queryFn: ({ signal, pageParam }) =>
      request<FoundPage>(`${events(conversationId)}/search`, {
        query: {
          query: words,
          sort_order: 'TIMESTAMP_DESC',
          limit: PAGE_MATCHES,
          page_id: pageParam,
          full: false,
        },
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_page_id,
  })
}

/** The number of events that contain all words of `words`. */
export function matchCountQuery(conversationId: string, words: string) {
  return queryOptions({
    ...CACHE_OPTIONS,
    queryKey: ['events', conversationId, 'matches', words, 'count'],
    enabled: words !== '',
    queryFn: ({ signal }) =>
      request<number>(`${events(conversationId)}/count`, { query: { query: words }, signal }),
  })
}
