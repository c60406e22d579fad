import { useTranslation } from 'react-i18next'
import { toast } from 'sonner'
import { useDeleteMemoryNote } from '@/api/agents/memory'
import type { MemoryNoteSummary } from '@/api/agents/memory-types'
import { ConfirmDialog } from '@/ui/overlay/confirm-dialog'

export function DeleteNoteDialog({ note, onClose }: { note: MemoryNoteSummary; onClose: () => void }) {
  const { t } = useTranslation()
  const remove = useDeleteMemoryNote()
  function handleConfirm() {
    remove.mutate(note.id, {
      onSuccess: () => {
        toast.success(t('memory.deleted'))
        onClose()
      },
    })
  }
  return (
    <ConfirmDialog
      isOpen
      onOpenChange={onClose}
      title={t('memory.delete_title', { title: note.title })}
      description={t('memory.delete_text')}
      confirmLabel={t('memory.delete_confirm')}
      isBusy={remove.isPending}
      onConfirm={handleConfirm}
    />
  )
}
