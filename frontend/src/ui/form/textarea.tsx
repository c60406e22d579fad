import clsx from 'clsx'
import type { ComponentProps } from 'react'
import { CONTROL_CLASS } from './input'

/** A text field that grows with its text up to its max-height. `className` sets the max-height. */
export function Textarea({ className, ...props }: ComponentProps<'textarea'>) {
  return (
    <textarea
      rows={3}
      {...props}
      className={clsx(
        CONTROL_CLASS,
        'field-sizing-content resize-none px-3 py-2 text-base sm:text-sm',
        className,
      )}
    />
  )
}
