import { Users } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import type { AppConversation } from '@/api/types'
import { Badge } from '@/ui/feedback/badge'

/** Returns whether another person owns the conversation. */
export function isSharedByOther({ access }: AppConversation): boolean {
  return access === 'view' || access === 'steer'
}

/** Says who shares the conversation with the user, or that the user shares it with others. */
export function SharedBadge({ conversation }: { conversation: AppConversation }) {
  const { t } = useTranslation()
  if (!isSharedByOther(conversation) && !conversation.is_shared) return null
  return (
    <Badge icon={<Users aria-hidden />}>
      {isSharedByOther(conversation)
        ? t('conversations.shared_by', { name: conversation.owner_name })
        : t('conversations.shared')}
    </Badge>
  )
}
