import type { ReactNode } from 'react'

/** The label of a field of the task, with its icon. */
export function Labelled({ icon, children }: { icon: ReactNode; children: ReactNode }) {
  return (
    <span className="flex items-center gap-1.5 text-xs text-muted *:[svg]:size-3.5">
      {icon}
      {children}
    </span>
  )
}
