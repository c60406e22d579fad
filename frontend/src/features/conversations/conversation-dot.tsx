import { useTranslation } from 'react-i18next'
import {
  conversationStatus,
  isActive,
  statusPartsOf,
  statusText,
  statusTone,
} from '@/api/conversations/conversation-status'
import type { AppConversation } from '@/api/types'
import { StatusDot } from '@/ui/feedback/status-dot'

/** A dot for the status of a conversation. Its accessible name is the status in words. */
export function ConversationDot({ conversation }: { conversation: AppConversation }) {
  const { t } = useTranslation()
  const parts = statusPartsOf(conversation)
  const status = conversationStatus(parts)
  return (
    <StatusDot
      tone={statusTone(parts)}
      label={statusText(t, parts)}
      isActive={isActive(status) || status === 'waiting_for_confirmation'}
    />
  )
}
