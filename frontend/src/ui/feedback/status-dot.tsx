import clsx from 'clsx'
import type { Tone } from './badge'

const TONES: Record<Tone, string> = {
  neutral: 'bg-border-strong text-border-strong',
  accent: 'bg-accent-mark text-accent-mark',
  success: 'bg-success-mark text-success-mark',
  warning: 'bg-signal text-signal',
  danger: 'bg-danger text-danger',
}

export interface StatusDotProps {
  tone: Tone
  /** The state in words, because many users cannot tell the colours apart. */
  label: string
  /** True while something is in progress. */
  isActive?: boolean
  className?: string
}

export function StatusDot({ tone, label, isActive, className }: StatusDotProps) {
  return (
    <span
      role="img"
      aria-label={label}
      title={label}
      className={clsx(
        'inline-block size-2 shrink-0 rounded-full',
        TONES[tone],
        isActive && 'animate-[pulse-ring_1.6s_ease-out_infinite]',
        className,
      )}
    />
  )
}
