import clsx from 'clsx'
import { CircleAlert, CircleCheck, Info, TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import type { Tone } from './badge'

const TONES: Record<Tone, string> = {
  neutral: 'border-border bg-sunken [&>svg]:text-muted',
  accent: 'border-accent/30 bg-accent-soft [&>svg]:text-accent',
  success: 'border-success/30 bg-success-soft [&>svg]:text-success',
  warning: 'border-warning/30 bg-warning-soft [&>svg]:text-warning',
  danger: 'border-danger/30 bg-danger-soft [&>svg]:text-danger',
}
const ICONS = {
  neutral: Info,
  accent: Info,
  success: CircleCheck,
  warning: TriangleAlert,
  danger: CircleAlert,
}

export interface NoticeProps {
  tone: Tone
  title?: ReactNode
  children?: ReactNode
  action?: ReactNode
  className?: string
}

/**
 * A box with a remark inside a page. Screen readers announce the tone `danger` at once, and the other tones
 * when they are idle.
 */
export function Notice({ tone, title, children, action, className }: NoticeProps) {
  const Icon = ICONS[tone]
  return (
    <div
      role={tone === 'danger' ? 'alert' : 'status'}
      className={clsx('flex items-start gap-3 rounded-lg border px-4 py-3 text-sm', TONES[tone], className)}
    >
      <Icon aria-hidden className="mt-0.5 size-4 shrink-0" />
      {/* If there is little room, the button goes below the text. The text then has the whole width. */}
      <div className="flex min-w-0 flex-1 flex-wrap items-start gap-x-3 gap-y-2">
        <div className="min-w-0 flex-1 basis-56">
          {title && <p className="font-medium wrap-anywhere">{title}</p>}
          {children && <div className="wrap-anywhere text-muted">{children}</div>}
        </div>
        {action}
      </div>
    </div>
  )
}
