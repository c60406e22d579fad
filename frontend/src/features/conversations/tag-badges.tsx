import { Tag } from 'lucide-react'
import type { AppConversation } from '@/api/types'
import { tagText } from '@/lib/tags'
import { Badge } from '@/ui/badge'

/** The tags of a conversation. */
export function TagBadges({ conversation }: { conversation: AppConversation }) {
  return Object.entries(conversation.tags).map(([key, value]) => (
    <Badge key={key} icon={<Tag aria-hidden />} className="max-w-40">
      <span className="truncate">{tagText(key, value)}</span>
    </Badge>
  ))
}
