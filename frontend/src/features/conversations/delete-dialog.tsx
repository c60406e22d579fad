import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { toast } from 'sonner'
import { conversationTitle } from '@/api/conversations/conversation-title'
import { neighboursQuery, useDeleteConversation } from '@/api/conversations/conversations'
import type { AppConversation } from '@/api/types'
import { ConfirmDialog } from '@/ui/overlay/confirm-dialog'

export interface DeleteDialogProps {
  conversation: AppConversation
  onClose: () => void
  onDeleted?: () => void
}

export function DeleteDialog({ conversation, onClose, onDeleted }: DeleteDialogProps) {
  const { t } = useTranslation()
  const remove = useDeleteConversation()
  const { data: others = [] } = useQuery(neighboursQuery(conversation))
  const isShared = others.length > 0
  function handleConfirm() {
    // The dialog may have disappeared with the conversation when the reply arrives. The query client shows a
    // failure.
    void remove.mutateAsync(conversation.id).then(
      () => {
        toast.success(t('conversations.deleted'))
        onDeleted?.()
        onClose()
      },
      () => undefined,
    )
  }
  return (
    <ConfirmDialog
      isOpen
      onOpenChange={onClose}
      title={t('conversations.delete_title')}
      description={t(isShared ? 'conversations.delete_shared_text' : 'conversations.delete_text', {
        title: conversationTitle(t, conversation),
        count: others.length,
      })}
      confirmLabel={t('conversations.delete_confirm')}
      isBusy={remove.isPending}
      onConfirm={handleConfirm}
    />
  )
}
