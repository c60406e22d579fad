import { createContext, useContext, useEffect, useState, type ReactNode } from 'react'
import { useStore } from 'zustand'
import { persistOutgoing, readOutgoing } from './outgoing-storage'
import type { SocketEnvironment } from '@/events/stream/frame-socket'
import { createConversationStore, type ConversationState, type ConversationStore } from './store'

const StoreContext = createContext<ConversationStore | null>(null)

export interface ConversationProviderProps {
  conversationId: string
  /** Functions that open the stream in another way than by the conversation's id. */
  environment?: Partial<SocketEnvironment>
  children: ReactNode
}

/** Gives its children another store, for example a store that shows an earlier state. */
export const ConversationStoreProvider = StoreContext

/** Opens the stream of one conversation while it is mounted. It needs `key={conversationId}`. */
export function ConversationProvider({ conversationId, environment, children }: ConversationProviderProps) {
  const [store] = useState(() =>
    createConversationStore(conversationId, { outgoing: readOutgoing(conversationId), environment }),
  )
  useEffect(() => persistOutgoing(conversationId, store), [conversationId, store])
  useEffect(() => store.connect(), [store])
  return <StoreContext value={store}>{children}</StoreContext>
}

export function useConversationStore(): ConversationStore {
  const store = useContext(StoreContext)
  if (store === null) throw new Error('This component stands outside a ConversationProvider.')
  return store
}

/**
 * Returns a part of the conversation's state. `select` must return a stable value: a field or a primitive,
 * and no new object.
 */
export function useConversation<T>(select: (state: ConversationState) => T): T {
  return useStore(useConversationStore(), select)
}
