import clsx from 'clsx'
import { ChevronRight } from 'lucide-react'
import { useId, type ReactNode } from 'react'
import { useRowState } from '../timeline/row-state'

export type ToolState =
  'running' | 'done' | 'failed' | 'rejected' | 'stopped' | 'unanswered' | 'waiting' | 'waiting_for_client'

export interface ToolCardProps {
  icon: ReactNode
  /** The object of the call, such as the file, or the tool's name. */
  title: ReactNode
  /** The outcome in short: exit code, line counts, elapsed time. */
  status?: ReactNode
  state: ToolState
  /** Whether the card is open until the user opens or closes it. The value may change with the outcome. */
  isOpenByDefault?: boolean
  children?: ReactNode
}

/** The frame around a tool's action and its result. */
export function ToolCard({ icon, title, status, state, isOpenByDefault = true, children }: ToolCardProps) {
  const [chosen, setChosen] = useRowState<boolean | null>('card', null)
  // An action that waits for approval is shown completely in the question, so its card is closed.
  const isOpen = chosen ?? (isOpenByDefault && state !== 'waiting')
  const bodyId = useId()
  const isBad = state === 'failed' || state === 'rejected'
  return (
    <div
      className={clsx(
        'overflow-hidden rounded-lg border bg-raised',
        isBad ? 'border-danger/40' : 'border-border',
      )}
    >
      <button
        type="button"
        aria-expanded={children ? isOpen : undefined}
        aria-controls={children ? bodyId : undefined}
        onClick={() => setChosen(!isOpen)}
        className="flex min-h-9 w-full items-center gap-2 px-3 py-1.5 text-left text-sm hover:bg-hover focus-visible:-outline-offset-2"
      >
        <span className="shrink-0 text-muted *:size-4">{icon}</span>
        <span className="min-w-0 flex-1 truncate">{title}</span>
        <span className="flex shrink-0 items-center gap-2 text-xs text-muted tabular-nums">{status}</span>
        {children && (
          <ChevronRight
            aria-hidden
            className={clsx('size-3.5 shrink-0 text-faint transition-transform', isOpen && 'rotate-90')}
          />
        )}
      </button>
      {isOpen && children && (
        <div id={bodyId} className="border-t border-border">
          {children}
        </div>
      )}
    </div>
  )
}
