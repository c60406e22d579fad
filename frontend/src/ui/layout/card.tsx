import clsx from 'clsx'
import type { ComponentProps } from 'react'

export function Card({ className, ...props }: ComponentProps<'div'>) {
  return (
    <div {...props} className={clsx('rounded-xl border border-border bg-raised shadow-raised', className)} />
  )
}
