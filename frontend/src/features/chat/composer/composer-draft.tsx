import { createContext, useCallback, useContext, useMemo, useState, type ReactNode } from 'react'
import { readStored, writeStored } from '@/lib/browser/local-storage'

interface ComposerDraft {
  conversationId: string
  text: string
  setText: (text: string) => void
  append: (text: string) => void
}

const DraftContext = createContext<ComposerDraft | null>(null)

/** The text that the user is writing. It survives a reload, and a failed message can be put back into it. */
export function ComposerDraftProvider({
  conversationId,
  children,
}: {
  conversationId: string
  children: ReactNode
}) {
  const storageKey = `slipway.draft.${conversationId}`
  const [text, setPlainText] = useState(() => {
    const stored = readStored(storageKey)
    return typeof stored === 'string' ? stored : ''
  })
  const setText = useCallback(
    (next: string) => {
      setPlainText(next)
      writeStored(storageKey, next)
    },
    [storageKey],
  )
  const append = useCallback((added: string) => setText(text ? `${text}\n${added}` : added), [setText, text])
  const draft = useMemo(
    () => ({ conversationId, text, setText, append }),
    [conversationId, text, setText, append],
  )
  return <DraftContext value={draft}>{children}</DraftContext>
}

export function useComposerDraft(): ComposerDraft {
  const draft = useContext(DraftContext)
  if (draft === null) throw new Error('This component stands outside a ComposerDraftProvider.')
  return draft
}
