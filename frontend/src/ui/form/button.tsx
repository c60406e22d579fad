import clsx from 'clsx'
import type { ComponentProps, ReactNode } from 'react'
import { Spinner } from '@/ui/feedback/spinner'

export type ButtonVariant = 'primary' | 'secondary' | 'ghost' | 'danger'
export type ButtonSize = 'sm' | 'md'

const VARIANTS: Record<ButtonVariant, string> = {
  primary: 'bg-accent text-on-accent hover:bg-accent-strong shadow-raised',
  secondary:
    'border border-border bg-raised text-text hover:bg-hover hover:border-border-strong shadow-raised',
  ghost: 'text-muted hover:bg-hover hover:text-text',
  danger: 'bg-danger text-on-danger hover:brightness-110 shadow-raised',
}
const SIZES: Record<ButtonSize, string> = {
  sm: 'h-8 gap-1.5 px-2.5 text-sm',
  md: 'h-10 gap-2 px-4 text-sm',
}

/** Returns the classes that make a link look like a button: `<Link className={buttonClass()}>`. */
export function buttonClass(
  variant: ButtonVariant = 'secondary',
  size: ButtonSize = 'md',
  className?: string,
) {
  return clsx(
    'inline-flex shrink-0 items-center justify-center rounded-md font-medium whitespace-nowrap select-none',
    'transition-colors duration-100 disabled:pointer-events-none disabled:opacity-50',
    VARIANTS[variant],
    SIZES[size],
    className,
  )
}

export interface ButtonProps extends ComponentProps<'button'> {
  variant?: ButtonVariant
  size?: ButtonSize
  icon?: ReactNode
  /**
   * If true, the button shows a spinner and ignores clicks. The label stays, so the width does not change.
   */
  isBusy?: boolean
}

export function Button({
  variant,
  size,
  icon,
  isBusy,
  className,
  children,
  disabled,
  ...props
}: ButtonProps) {
  return (
    <button
      type="button"
      {...props}
      disabled={disabled || isBusy}
      aria-busy={isBusy || undefined}
      className={buttonClass(variant, size, className)}
    >
      {isBusy ? <Spinner /> : icon}
      {children}
    </button>
  )
}
