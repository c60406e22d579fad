import type { ReactNode } from 'react'

export function Kbd({ children }: { children: ReactNode }) {
  return (
    <kbd className="rounded-sm border border-border bg-sunken px-1.5 font-mono text-2xs text-muted">
      {children}
    </kbd>
  )
}

/** The modifier of shortcuts as this platform writes it. */
export const MOD_KEY = /Mac|iPhone|iPad/.test(navigator.platform) ? '⌘' : 'Ctrl'
