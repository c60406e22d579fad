/**
 * Stores messages in this browser until the log contains them. So they are not lost if the user closes the
 * tab.
 */
import * as z from 'zod/mini'
import { readStored, writeStored } from '@/lib/browser/local-storage'
import type { ConversationStore, OutgoingMessage } from './store'

const storedMessages = z.array(
  z.object({
    id: z.string(),
    text: z.string(),
    state: z.enum(['sending', 'sent', 'queued', 'failed']),
    error: z.nullable(z.string()),
  }),
)

const storageKey = (conversationId: string) => `slipway.outgoing.${conversationId}`

/**
 * Returns the messages of an earlier visit. A message whose request was interrupted may have arrived. Sending
 * it again does no harm.
 */
export function readOutgoing(conversationId: string): OutgoingMessage[] {
  const stored = storedMessages.safeParse(readStored(storageKey(conversationId)))
  if (!stored.success) return []
  return stored.data.map((message) =>
    message.state === 'sending' ? { ...message, state: 'failed' } : message,
  )
}

/** Keeps the stored copy up to date. Returns a function that stops this. */
export function persistOutgoing(conversationId: string, store: ConversationStore): () => void {
  return store.subscribe(({ outgoing }, before) => {
    if (outgoing !== before.outgoing)
      writeStored(storageKey(conversationId), outgoing.length > 0 ? outgoing : null)
  })
}
