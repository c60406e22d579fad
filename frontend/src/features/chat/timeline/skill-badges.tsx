import { BookOpen } from 'lucide-react'
import { Badge } from '@/ui/feedback/badge'

export interface SkillBadgesProps {
  /** A text for screen readers that says what the names mean. */
  label: string
  names: readonly string[]
}

/** The skills and rules whose text the agent was given with this row. */
export function SkillBadges({ label, names }: SkillBadgesProps) {
  return (
    <>
      <span className="sr-only">{label}</span>
      {names.map((name) => (
        <Badge key={name} icon={<BookOpen aria-hidden />}>
          {name}
        </Badge>
      ))}
    </>
  )
}
