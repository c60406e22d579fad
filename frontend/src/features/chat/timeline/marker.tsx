import clsx from 'clsx'
import { ChevronRight } from 'lucide-react'
import { useId, type ReactNode } from 'react'
import { formatDateTime } from '@/lib/text/time'
import { useRowState } from './row-state'

export interface MarkerProps {
  icon: ReactNode
  text: string
  at: string
  /** Whether the content is open. Undefined for a marker without content. */
  isOpen?: boolean
}

export function Marker({ icon, text, at, isOpen }: MarkerProps) {
  return (
    <div className="flex items-center gap-3 text-xs text-muted before:h-px before:min-w-4 before:flex-1 before:bg-border after:h-px after:min-w-4 after:flex-1 after:bg-border">
      <span className="flex items-center gap-1.5 *:[svg]:size-3.5" title={formatDateTime(at)}>
        {icon}
        {text}
        {isOpen !== undefined && (
          <ChevronRight aria-hidden className={clsx('transition-transform', isOpen && 'rotate-90')} />
        )}
      </span>
    </div>
  )
}

/** A divider in small text. It shows its content when the user opens it. */
export function ExpandableMarker({
  children,
  ...marker
}: Omit<MarkerProps, 'isOpen'> & { children: ReactNode }) {
  const [isOpen, setIsOpen] = useRowState('marker', false)
  const bodyId = useId()
  return (
    <div>
      <button
        type="button"
        aria-expanded={isOpen}
        aria-controls={bodyId}
        onClick={() => setIsOpen(!isOpen)}
        className="block w-full rounded-sm hover:*:text-text"
      >
        <Marker {...marker} isOpen={isOpen} />
      </button>
      {isOpen && (
        <div
          id={bodyId}
          className="mt-2 max-h-96 overflow-y-auto rounded-lg border border-border bg-sunken px-4 py-2.5 text-sm text-muted"
        >
          {children}
        </div>
      )}
    </div>
  )
}
