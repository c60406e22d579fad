import { Tag } from 'lucide-react'
import type { AppConversation } from '@/api/types'
import { tagText } from '@/lib/text/tags'
import { Badge } from '@/ui/feedback/badge'

/** The tags of a conversation, in lines below it. */
export function TagBadges({ conversation }: { conversation: AppConversation }) {
  const tags = Object.entries(conversation.tags)
  if (tags.length === 0) return null
  return (
    <p className="mt-1 flex flex-wrap gap-1">
      {tags.map(([key, value]) => (
        <Badge key={key} icon={<Tag aria-hidden />} className="max-w-full">
          <span className="truncate">{tagText(key, value)}</span>
        </Badge>
      ))}
    </p>
  )
}
