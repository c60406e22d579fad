import { useTranslation } from 'react-i18next'
import { useArchive } from '@/api/conversations/archives'
import { conversationTitle } from '@/api/conversations/conversation-title'
import type { AppConversation } from '@/api/types'
import { ConfirmDialog } from '@/ui/overlay/confirm-dialog'

export interface ArchiveDialogProps {
  conversation: AppConversation
  /** The other conversations in the same sandbox. */
  others: AppConversation[]
  onClose: () => void
}

/**
 * Asks for a confirmation before a shared sandbox is archived, because it is archived for the other
 * conversations, too.
 */
export function ArchiveDialog({ conversation, others, onClose }: ArchiveDialogProps) {
  const { t } = useTranslation()
  const archive = useArchive(conversation)
  return (
    <ConfirmDialog
      isOpen
      onOpenChange={onClose}
      title={t('conversations.archive_title')}
      description={t('conversations.archive_text', {
        count: others.length,
        titles: others.map((other) => conversationTitle(t, other)).join(', '),
      })}
      confirmLabel={t('conversations.archive_confirm', { count: others.length })}
      isBusy={archive.isPending}
      onConfirm={() => archive.mutate(undefined, { onSettled: onClose })}
    />
  )
}
