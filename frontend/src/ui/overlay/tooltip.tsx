import { Tooltip as Primitive } from 'radix-ui'
import type { ReactNode } from 'react'

/** The shared state of all tooltips. The app mounts it once, around all pages. */
export const TooltipProvider = Primitive.Provider

export interface TooltipProps {
  content: ReactNode
  /** The element that has the tooltip. It must be a single element that can take a ref and the focus. */
  children: ReactNode
  side?: 'top' | 'right' | 'bottom' | 'left'
}

/** A hint that appears on hover and on focus. A fact must not be in a tooltip only. */
export function Tooltip({ content, children, side }: TooltipProps) {
  return (
    <Primitive.Root>
      <Primitive.Trigger asChild>{children}</Primitive.Trigger>
      <Primitive.Portal>
        <Primitive.Content
          side={side}
          sideOffset={6}
          collisionPadding={8}
          className="z-50 max-w-72 animate-appear rounded-md bg-text px-2 py-1 text-xs text-surface shadow-overlay"
        >
          {content}
        </Primitive.Content>
      </Primitive.Portal>
    </Primitive.Root>
  )
}
