import clsx from 'clsx'
import { ChevronDown } from 'lucide-react'
import type { ComponentProps } from 'react'
import { CONTROL_CLASS } from './input'

/** The select element of the browser. It has the keyboard control and the touch picker of the platform. */
export function Select({ className, children, ...props }: ComponentProps<'select'>) {
  return (
    <span className={clsx('relative block', className)}>
      <select
        {...props}
        className={clsx(CONTROL_CLASS, 'h-10 appearance-none truncate pr-8 pl-3 text-base sm:text-sm')}
      >
        {children}
      </select>
      <ChevronDown
        aria-hidden
        className="pointer-events-none absolute top-1/2 right-2.5 size-4 -translate-y-1/2 text-muted"
      />
    </span>
  )
}
