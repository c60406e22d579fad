import type { ReactNode } from 'react'

export interface SectionHeaderProps {
  title: string
  lead?: ReactNode
  action?: ReactNode
}

export function SectionHeader({ title, lead, action }: SectionHeaderProps) {
  return (
    <header className="mb-5 flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
      <div className="max-w-lg min-w-0">
        <h2 className="text-xl font-semibold">{title}</h2>
        {lead && <p className="mt-1 text-sm text-muted">{lead}</p>}
      </div>
      {action}
    </header>
  )
}
