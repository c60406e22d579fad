import { Popover as Primitive } from 'radix-ui'
import type { ReactNode } from 'react'

export interface PopoverProps {
  /** The element that opens the popover. It must be a single button element. */
  trigger: ReactNode
  label: string
  children: ReactNode
  align?: 'start' | 'center' | 'end'
  side?: 'top' | 'bottom' | 'left' | 'right'
}

/** A box with a few controls. The box opens beside the button that is its trigger. */
export function Popover({ trigger, label, children, align = 'end', side }: PopoverProps) {
  return (
    <Primitive.Root>
      <Primitive.Trigger asChild>{trigger}</Primitive.Trigger>
      <Primitive.Portal>
        <Primitive.Content
          aria-label={label}
          align={align}
          side={side}
          sideOffset={6}
          collisionPadding={8}
          className="z-50 w-72 max-w-[calc(100vw-1rem)] animate-appear rounded-lg border border-border bg-raised p-3 shadow-overlay"
        >
          {children}
        </Primitive.Content>
      </Primitive.Portal>
    </Primitive.Root>
  )
}
