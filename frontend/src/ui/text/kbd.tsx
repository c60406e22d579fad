import type { ReactNode } from 'react'

export function Kbd({ children }: { children: ReactNode }) {
  return (
    <kbd className="rounded-sm border border-border bg-sunken px-1.5 font-mono text-2xs text-muted">
      {children}
    </kbd>
  )
}

/** The name of the modifier key of shortcuts on this platform. */
export const MOD_KEY = /Mac|iPhone|iPad/.test(navigator.platform) ? '⌘' : 'Ctrl'
