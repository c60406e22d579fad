import clsx from 'clsx'
import { Tabs as Primitive } from 'radix-ui'
import type { ReactNode } from 'react'

export interface TabsProps<T extends string> {
  /** The accessible name of the row of tabs. */
  label: string
  value: T
  onValueChange: (value: T) => void
  tabs: { value: T; label: ReactNode; content: ReactNode }[]
  /** Stands at the end of the row. */
  actions?: ReactNode
  className?: string
}

/** Underlined tabs above their panel, which fills the rest of the height and scrolls itself. */
export function Tabs<T extends string>({
  label,
  value,
  onValueChange,
  tabs,
  actions,
  className,
}: TabsProps<T>) {
  return (
    <Primitive.Root
      value={value}
      onValueChange={(next) => onValueChange(next as T)}
      className={clsx('flex min-h-0 flex-col', className)}
    >
      <div className="flex h-12 shrink-0 items-stretch justify-between gap-2 border-b border-border px-3">
        <Primitive.List aria-label={label} className="flex gap-1">
          {tabs.map((tab) => (
            <Primitive.Trigger
              key={tab.value}
              value={tab.value}
              className={clsx(
                '-mb-px flex items-center gap-1.5 border-b-2 border-transparent px-2 text-sm font-medium text-muted',
                'hover:text-text focus-visible:-outline-offset-2 data-[state=active]:border-accent data-[state=active]:text-text',
              )}
            >
              {tab.label}
            </Primitive.Trigger>
          ))}
        </Primitive.List>
        {actions && <div className="flex items-center gap-1">{actions}</div>}
      </div>
      {tabs.map((tab) => (
        <Primitive.Content
          key={tab.value}
          value={tab.value}
          className="min-h-0 flex-1 overflow-auto focus-visible:-outline-offset-2"
        >
          {tab.content}
        </Primitive.Content>
      ))}
    </Primitive.Root>
  )
}
