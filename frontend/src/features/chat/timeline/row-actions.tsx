import { createContext, useContext, type ReactNode } from 'react'
import type { Rewind } from '@/events/fold/rewind'
import type { EventOf } from '@/events/wire/types'
import { useComposerDraft } from '../composer/composer-draft'

/** Functions with which the page adds controls to rows of the timeline. */
export interface RowActions {
  /** Returns a control beside a message of the user. `putBack` puts a text into the composer. */
  messageAction?: (message: EventOf<'MessageEvent'>, putBack: (text: string) => void) => ReactNode
  /** Returns a control beside the row of a rewind. */
  rewindAction?: (rewind: Rewind) => ReactNode
  /** Copies the address of an event. */
  onCopyLink?: (eventId: string) => void
  /** Opens the replay at a position. */
  onReplay?: (seq: number) => void
  /** Copies the conversation up to an event. */
  onFork?: (eventId: string) => void
}

const RowActionsContext = createContext<RowActions>({})

export const RowActionsProvider = RowActionsContext

export function MessageAction({ message }: { message: EventOf<'MessageEvent'> }) {
  const { messageAction } = useContext(RowActionsContext)
  const { append } = useComposerDraft()
  return messageAction?.(message, append)
}

export function useEventActions(): Pick<RowActions, 'onCopyLink' | 'onReplay' | 'onFork'> {
  return useContext(RowActionsContext)
}

export function RewindAction({ rewind }: { rewind: Rewind }) {
  return useContext(RowActionsContext).rewindAction?.(rewind)
}
