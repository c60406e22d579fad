import type { ReactNode } from 'react'

/** The label of a field in the form of a new task, with an icon. */
export function FieldLabel({ icon, children }: { icon: ReactNode; children: ReactNode }) {
  return (
    <span className="flex items-center gap-1.5 text-xs text-muted *:[svg]:size-3.5">
      {icon}
      {children}
    </span>
  )
}
