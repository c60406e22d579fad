import clsx from 'clsx'
import { Check } from 'lucide-react'
import { DropdownMenu as Primitive } from 'radix-ui'
import type { ReactNode } from 'react'

export interface DropdownMenuProps {
  /** The element that opens the menu. It must be a single button element. */
  trigger: ReactNode
  children: ReactNode
  align?: 'start' | 'center' | 'end'
  side?: 'top' | 'bottom' | 'left' | 'right'
  /**
   * Called when the menu has closed. If the function calls `preventDefault`, the button does not get the
   * focus.
   */
  onCloseAutoFocus?: (event: Event) => void
}

export function DropdownMenu({
  trigger,
  children,
  align = 'end',
  side,
  onCloseAutoFocus,
}: DropdownMenuProps) {
  return (
    <Primitive.Root>
      <Primitive.Trigger asChild>{trigger}</Primitive.Trigger>
      <Primitive.Portal>
        <Primitive.Content
          align={align}
          side={side}
          sideOffset={6}
          collisionPadding={8}
          onCloseAutoFocus={onCloseAutoFocus}
          className="z-50 min-w-44 animate-appear rounded-lg border border-border bg-raised p-1 shadow-overlay"
        >
          {children}
        </Primitive.Content>
      </Primitive.Portal>
    </Primitive.Root>
  )
}

const ITEM =
  'flex min-h-8 items-center gap-2 rounded-md px-2 py-1 text-sm outline-none data-highlighted:bg-hover'

export interface MenuItemProps {
  icon?: ReactNode
  children: ReactNode
  isDanger?: boolean
  isDisabled?: boolean
  onSelect: () => void
}

export function MenuItem({ icon, children, isDanger, isDisabled, onSelect }: MenuItemProps) {
  return (
    <Primitive.Item
      disabled={isDisabled}
      onSelect={onSelect}
      className={clsx(ITEM, isDanger && 'text-danger', 'data-disabled:opacity-50')}
    >
      <span className="size-4 shrink-0 *:size-4">{icon}</span>
      {children}
    </Primitive.Item>
  )
}

export interface MenuRadioGroupProps<T extends string> {
  label: string
  value: T
  options: { value: T; label: ReactNode; icon?: ReactNode }[]
  onValueChange: (value: T) => void
}

/** A choice of one among a few options, with a tick at the current option. */
export function MenuRadioGroup<T extends string>({
  label,
  value,
  options,
  onValueChange,
}: MenuRadioGroupProps<T>) {
  return (
    <Primitive.RadioGroup value={value} onValueChange={(next) => onValueChange(next as T)}>
      <Primitive.Label className="eyebrow px-2 pt-1.5 pb-1">{label}</Primitive.Label>
      {options.map((option) => (
        <Primitive.RadioItem key={option.value} value={option.value} className={ITEM}>
          <span className="size-4 shrink-0 *:size-4">{option.icon}</span>
          <span className="flex-1">{option.label}</span>
          <Primitive.ItemIndicator>
            <Check className="size-4 text-accent" />
          </Primitive.ItemIndicator>
        </Primitive.RadioItem>
      ))}
    </Primitive.RadioGroup>
  )
}

export function MenuSeparator() {
  return <Primitive.Separator className="my-1 h-px bg-border" />
}
