import { useTranslation } from 'react-i18next'
import {
  conversationStatus,
  isActive,
  standingOf,
  statusText,
  statusTone,
} from '@/api/conversations/conversation-status'
import type { AppConversation } from '@/api/types'
import { StatusDot } from '@/ui/feedback/status-dot'

/** How a conversation stands, as a dot whose name says it. */
export function ConversationDot({ conversation }: { conversation: AppConversation }) {
  const { t } = useTranslation()
  const standing = standingOf(conversation)
  const status = conversationStatus(standing)
  return (
    <StatusDot
      tone={statusTone(standing)}
      label={statusText(t, standing)}
      isActive={isActive(status) || status === 'waiting_for_confirmation'}
    />
  )
}
