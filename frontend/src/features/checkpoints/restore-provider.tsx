import { createContext, useCallback, useContext, useState, type ReactNode } from 'react'
import { RestoreDialog } from './restore-dialog'

/** Identifies a checkpoint by its number, or by the message that began its turn. */
export interface RestoreTarget {
  checkpoint?: number
  eventId?: string
  /** The text of the message. */
  text?: string
  /** Called when the chat has gone back to the point before the message. */
  onChatRestored?: () => void
}

const AskContext = createContext<((target: RestoreTarget) => void) | null>(null)

export interface RestoreProviderProps {
  conversationId: string
  /** Renders a unified diff. */
  renderPatch: (patch: string) => ReactNode
  children: ReactNode
}

/** Contains the dialog, so that it stays open when the row of its button is removed from the timeline. */
export function RestoreProvider({ conversationId, renderPatch, children }: RestoreProviderProps) {
  const [target, setTarget] = useState<RestoreTarget | null>(null)
  const close = useCallback(() => setTarget(null), [])
  return (
    <AskContext value={setTarget}>
      {children}
      {target && (
        <RestoreDialog
          conversationId={conversationId}
          target={target}
          renderPatch={renderPatch}
          onClose={close}
        />
      )}
    </AskContext>
  )
}

/** Returns a function that opens the dialog for going back. */
export function useAskToRestore(): (target: RestoreTarget) => void {
  const ask = useContext(AskContext)
  if (ask === null) throw new Error('This component stands outside a RestoreProvider.')
  return ask
}
