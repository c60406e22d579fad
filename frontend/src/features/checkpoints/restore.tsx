import { createContext, useCallback, useContext, useState, type ReactNode } from 'react'
import { RestoreDialog } from './restore-dialog'

/** Which checkpoint is meant: by its number, or by the message that began its turn. */
export interface Wanted {
  checkpoint?: number
  eventId?: string
  /** What the message said. */
  text?: string
  /** Once the chat has gone back to before the message. */
  onChatRestored?: () => void
}

const AskContext = createContext<((wanted: Wanted) => void) | null>(null)

export interface RestoreProviderProps {
  conversationId: string
  /** Shows a unified diff. */
  renderPatch: (patch: string) => ReactNode
  children: ReactNode
}

/** Keeps the question open, also when the row that asked leaves the timeline. */
export function RestoreProvider({ conversationId, renderPatch, children }: RestoreProviderProps) {
  const [wanted, setWanted] = useState<Wanted | null>(null)
  const close = useCallback(() => setWanted(null), [])
  return (
    <AskContext value={setWanted}>
      {children}
      {wanted && (
        <RestoreDialog
          conversationId={conversationId}
          wanted={wanted}
          renderPatch={renderPatch}
          onClose={close}
        />
      )}
    </AskContext>
  )
}

/** Asks whether to go back. */
export function useAskToRestore(): (wanted: Wanted) => void {
  const ask = useContext(AskContext)
  if (ask === null) throw new Error('This component stands outside a RestoreProvider.')
  return ask
}
