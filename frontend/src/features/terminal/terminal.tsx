import { SquareTerminal } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { isAwake } from '@/events/status'
import { useConversation } from '@/events/use-conversation'
import { useTheme } from '@/lib/browser/theme'
import { useMediaQuery } from '@/lib/hooks/use-media-query'
import { Asleep } from '@/ui/feedback/asleep'
import { EmptyState } from '@/ui/feedback/empty-state'
import { ErrorState } from '@/ui/feedback/error-state'
import { Notice } from '@/ui/feedback/notice'
import { Button } from '@/ui/form/button'
import { showTerminal, type ShownTerminal } from './shown-terminal'
import type { TerminalState } from './terminal-socket'

export interface TerminalPanelProps {
  conversationId: string
  /** False until the conversation has started. Before that, there is no sandbox. */
  isReady: boolean
}

/** A shell of the user in the sandbox, in the directory of the conversation. */
export function TerminalPanel({ conversationId, isReady }: TerminalPanelProps) {
  const { t } = useTranslation()
  const canOpen = useConversation(isAwake)
  const [shell, setShell] = useState(0)
  if (!isReady) return <EmptyState icon={<SquareTerminal />} title={t('terminal.not_yet')} />
  if (!canOpen) return <Asleep />
  return <Shell key={shell} conversationId={conversationId} onAgain={() => setShell(shell + 1)} />
}

function Shell({ conversationId, onAgain }: { conversationId: string; onAgain: () => void }) {
  const { t } = useTranslation()
  const [state, setState] = useState<TerminalState>({ kind: 'connecting' })
  const element = useRef<HTMLDivElement>(null)
  const hint = useRef<HTMLParagraphElement>(null)
  const shown = useRef<ShownTerminal | null>(null)
  const theme = useTheme()
  const isDark = useMediaQuery('(prefers-color-scheme: dark)')
  const label = t('terminal.label')
  useEffect(() => {
    if (element.current === null) return
    const terminal = showTerminal(element.current, {
      conversationId,
      label,
      onState: setState,
      onLeave: () => hint.current?.focus(),
    })
    shown.current = terminal
    return terminal.close
  }, [conversationId, label])
  useEffect(() => shown.current?.recolour(), [theme, isDark])

  return (
    <div className="flex h-full flex-col">
      <p
        ref={hint}
        tabIndex={-1}
        className="flex min-h-11 shrink-0 items-center border-b border-border bg-surface px-3 text-sm text-muted outline-none"
      >
        {t('terminal.hint')}
      </p>
      <TerminalNotice state={state} onAgain={onAgain} />
      <div className="min-h-0 flex-1 overflow-hidden p-2" dir="ltr">
        <div ref={element} className="h-full font-mono" />
      </div>
    </div>
  )
}

function TerminalNotice({ state, onAgain }: { state: TerminalState; onAgain: () => void }) {
  const { t } = useTranslation()
  switch (state.kind) {
    case 'connecting':
      return <p role="status" aria-label={t('terminal.connecting')} />
    case 'open':
      return null
    case 'lost':
      return <Notice tone="warning" className="m-3" title={t('terminal.lost')} />
    case 'ended':
      return (
        <Notice
          tone="neutral"
          className="m-3"
          title={t('terminal.ended', { code: state.exitCode })}
          action={
            <Button size="sm" onClick={onAgain}>
              {t('terminal.again')}
            </Button>
          }
        />
      )
    case 'refused':
      return (
        <ErrorState
          className="m-3"
          title={t('terminal.refused')}
          error={new Error(state.detail)}
          onRetry={onAgain}
        />
      )
  }
}
