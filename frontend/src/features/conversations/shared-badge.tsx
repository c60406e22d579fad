import { Users } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import type { AppConversation } from '@/api/types'
import { Badge } from '@/ui/feedback/badge'

/** Whether another person owns it. */
export function isSharedByOther({ access }: AppConversation): boolean {
  return access === 'view' || access === 'steer'
}

/** Says who shares a conversation, or that the user shares it. */
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
