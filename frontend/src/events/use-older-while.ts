import { useEffect } from 'react'
import { useConversation, useConversationStore } from './use-conversation'

/** Loads older events, page by page, while `isWanted` and until the first one is there. Stops when a page fails. */
export function useOlderWhile(isWanted: boolean) {
  const store = useConversationStore()
  const firstSeq = useConversation(({ view }) => view.firstSeq)
  const hasFailed = useConversation(({ older }) => older.error !== null)
  useEffect(() => {
    if (isWanted && firstSeq > 1 && !hasFailed) void store.loadOlder()
  }, [store, isWanted, firstSeq, hasFailed])
}
