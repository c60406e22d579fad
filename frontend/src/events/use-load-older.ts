import { useEffect } from 'react'
import { useConversation, useConversationStore } from './use-conversation'

/**
 * Loads older events page by page while `isWanted` is true. Stops when the first event of the log is loaded,
 * or when a page cannot be loaded.
 */
export function useLoadOlder(isWanted: boolean) {
  const store = useConversationStore()
  const firstSeq = useConversation(({ view }) => view.firstSeq)
  const hasFailed = useConversation(({ older }) => older.error !== null)
  useEffect(() => {
    if (isWanted && firstSeq > 1 && !hasFailed) void store.loadOlder()
  }, [store, isWanted, firstSeq, hasFailed])
}
