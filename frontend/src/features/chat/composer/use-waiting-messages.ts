import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { waitingMessagesQuery } from '@/api/conversations/waiting-messages'
import { useConversation, useConversationStore } from '@/events/use-conversation'
import { contentText } from '../timeline/rows'

/** Shows the messages that wait for the agent, also on pages that did not send them. */
export function useWaitingMessages(conversationId: string) {
  const store = useConversationStore()
  const isWaiting = useConversation(({ view }) => {
    const status = view.startTask?.status ?? 'READY'
    return status !== 'READY' && status !== 'WORKING'
  })
  const { data } = useQuery({ ...waitingMessagesQuery(conversationId), enabled: isWaiting })
  useEffect(() => {
    const known = new Set(store.getState().outgoing.map(({ id }) => id))
    for (const { id, content } of data ?? []) {
      if (!known.has(id)) store.putOutgoing({ id, text: contentText(content), state: 'queued', error: null })
    }
  }, [data, store])
}
