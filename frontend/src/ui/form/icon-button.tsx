import clsx from 'clsx'
import type { ComponentProps, ReactNode } from 'react'
import { Tooltip } from '@/ui/overlay/tooltip'

export interface IconButtonProps extends ComponentProps<'button'> {
  /** The action of the button. It is the accessible name and the text of the tooltip. */
  label: string
  icon: ReactNode
  size?: 'sm' | 'md'
  /**
   * An open tooltip consumes the Escape key. Without a tooltip, Escape reaches the element around the button.
   */
  hasTooltip?: boolean
}

export function IconButton({
  label,
  icon,
  size = 'md',
  hasTooltip = true,
  className,
  ...props
}: IconButtonProps) {
  const button = (
    <button
      type="button"
      aria-label={label}
      {...props}
      className={clsx(
        'inline-flex shrink-0 items-center justify-center rounded-md text-muted transition-colors duration-100',
        'hover:bg-hover hover:text-text disabled:pointer-events-none disabled:opacity-50',
        size === 'sm' ? 'size-8' : 'size-10',
        className,
      )}
    >
      {icon}
    </button>
  )
  return hasTooltip ? <Tooltip content={label}>{button}</Tooltip> : button
}
