import { Tooltip as Primitive } from 'radix-ui'
import type { ReactNode } from 'react'

/** Mounted once, around the app. */
export const TooltipProvider = Primitive.Provider

export interface TooltipProps {
  content: ReactNode
  /** One element that can take a ref and focus. */
  children: ReactNode
  side?: 'top' | 'right' | 'bottom' | 'left'
}

/** A hint on hover and focus. Never the only place of a fact. */
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
