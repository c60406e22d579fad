import { BookOpen } from 'lucide-react'
import { Badge } from '@/ui/feedback/badge'

export interface SkillBadgesProps {
  /** What came of them, for those who only hear the page. */
  label: string
  names: readonly string[]
}

/** Skills and rules whose text the agent was given with this row. */
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
