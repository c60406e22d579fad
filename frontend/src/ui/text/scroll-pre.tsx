import clsx from 'clsx'
import type { ComponentProps } from 'react'

/** Preformatted text that can scroll. It takes the focus, so that the keyboard can scroll it too. */
export function ScrollPre({ className, ...props }: ComponentProps<'pre'>) {
  return (
    <pre
      // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a scrolling region must be reachable by keyboard
      tabIndex={0}
      {...props}
      className={clsx('overflow-auto focus-visible:-outline-offset-2', className)}
    />
  )
}
