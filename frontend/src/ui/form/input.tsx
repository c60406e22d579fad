import clsx from 'clsx'
import type { ComponentProps } from 'react'

/** The classes that all text controls share. */
export const CONTROL_CLASS = clsx(
  'w-full rounded-md border border-border-strong/60 bg-raised text-text transition-colors duration-100',
  'hover:border-border-strong focus:border-accent focus:outline-2 focus:outline-offset-0 focus:outline-accent/35',
  'aria-invalid:border-danger disabled:opacity-60',
)

export function Input({ className, ...props }: ComponentProps<'input'>) {
  return (
    <input
      spellCheck={false}
      autoComplete="off"
      {...props}
      className={clsx(CONTROL_CLASS, 'h-10 px-3 text-base sm:text-sm', className)}
    />
  )
}
