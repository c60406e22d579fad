import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { toast } from 'sonner'
import { memoryNoteQuery } from '@/api/agents/memory'
import type { MemoryNoteSummary } from '@/api/agents/memory-types'
import { Dialog } from '@/ui/overlay/dialog'
import { ErrorState } from '@/ui/feedback/error-state'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { NoteForm } from './note-form'

export interface NoteDialogProps {
  note: MemoryNoteSummary
  onClose: () => void
}

/** A dialog to read and edit one note. It is open while it is mounted. */
export function NoteDialog({ note, onClose }: NoteDialogProps) {
  const { t } = useTranslation()
  const query = useQuery(memoryNoteQuery(note.id))
  return (
    <Dialog
      isOpen
      onOpenChange={onClose}
      title={t('memory.note')}
      description={t('memory.note_lead', { repository: note.repository, name: note.name })}
      className="max-w-2xl!"
    >
      {query.isPending && <SkeletonList rows={3} label={t('memory.loading')} />}
      {query.isError && (
        <ErrorState
          error={query.error}
          title={t('memory.load_failed')}
          onRetry={() => void query.refetch()}
        />
      )}
      {query.data && (
        <NoteForm
          key={query.data.id}
          note={query.data}
          onCancel={onClose}
          onSaved={() => {
            toast.success(t('memory.saved'))
            onClose()
          }}
        />
      )}
    </Dialog>
  )
}
