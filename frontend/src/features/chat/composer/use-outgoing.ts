import { useCallback, useMemo } from 'react'
import { useSendMessage } from '@/api/conversations/steering'
import { errorDetail } from '@/api/errors'
import { useTakeBack } from '@/api/conversations/waiting-messages'
import type { OutgoingMessage } from '@/events/store'
import { useConversationStore } from '@/events/use-conversation'
import { randomUuid } from '@/lib/uuid'
import { useComposerDraft } from './composer-draft'

export interface Outgoing {
  send: (text: string) => void
  /**
   * Sends a failed message again with the same id. If the message had arrived before, this changes nothing.
   */
  retry: (message: OutgoingMessage) => void
  /** Puts a failed message back into the composer. */
  takeBack: (message: OutgoingMessage) => void
  /**
   * Withdraws a waiting message, so that the agent does not get it, and puts its text back into the composer.
   */
  withdraw: (message: OutgoingMessage) => void
}

/** Sends messages. A sent message is shown at once and kept until the log has it. */
export function useOutgoing(): Outgoing {
  const store = useConversationStore()
  const { conversationId, append } = useComposerDraft()
  const { mutateAsync } = useSendMessage(conversationId)
  const { mutate: withdraw } = useTakeBack(conversationId)

  const post = useCallback(
    async (id: string, text: string) => {
      store.putOutgoing({ id, text, state: 'sending', error: null })
      try {
        const reply = await mutateAsync({ id, role: 'user', content: [{ type: 'text', text }], run: true })
        store.putOutgoing({ id, text, state: reply.message === 'queued' ? 'queued' : 'sent', error: null })
      } catch (error) {
        store.putOutgoing({ id, text, state: 'failed', error: errorDetail(error) })
      }
    },
    [store, mutateAsync],
  )

  const takeBack = useCallback(
    (message: OutgoingMessage) => {
      store.dropOutgoing(message.id)
      append(message.text)
    },
    [store, append],
  )

  return useMemo(
    () => ({
      send: (text) => void post(randomUuid(), text),
      retry: (message) => void post(message.id, message.text),
      takeBack,
      withdraw: (message) => withdraw(message.id, { onSuccess: () => takeBack(message) }),
    }),
    [post, takeBack, withdraw],
  )
}
