import clsx from 'clsx'
import { Tabs } from 'radix-ui'
import type { ReactNode } from 'react'

export interface TabBarProps<T extends string> {
  /** The accessible name of the row of tabs. */
  label: string
  value: T
  onValueChange: (value: T) => void
  tabs: { value: T; label: ReactNode }[]
  /** The base of the panels' ids. The panel of a tab has the id `panelId(base, value)`. */
  panelBase: string
}

/**
 * A row of underlined tabs. The panels are elsewhere in the page. They do not change when the row of tabs
 * changes.
 */
export function TabBar<T extends string>({ label, value, onValueChange, tabs, panelBase }: TabBarProps<T>) {
  return (
    <Tabs.Root value={value} onValueChange={(next) => onValueChange(next as T)}>
      <Tabs.List
        aria-label={label}
        className="flex h-12 items-stretch gap-1 overflow-x-auto overflow-y-hidden border-b border-border px-3"
      >
        {tabs.map((tab) => (
          <Tabs.Trigger
            key={tab.value}
            value={tab.value}
            id={tabId(panelBase, tab.value)}
            aria-controls={panelId(panelBase, tab.value)}
            className={clsx(
              '-mb-px flex shrink-0 items-center gap-1.5 border-b-2 border-transparent px-2 text-sm font-medium whitespace-nowrap text-muted',
              'hover:text-text focus-visible:-outline-offset-2 data-[state=active]:border-accent data-[state=active]:text-text',
            )}
          >
            {tab.label}
          </Tabs.Trigger>
        ))}
      </Tabs.List>
    </Tabs.Root>
  )
}

export const tabId = (base: string, value: string) => `${base}-tab-${value}`
export const panelId = (base: string, value: string) => `${base}-panel-${value}`
