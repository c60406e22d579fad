import { Archive, ArchiveRestore, Package, Tag, Trash2, X } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { toast } from 'sonner'
import { useArchiveSandboxes } from '@/api/conversations/archives'
import { useArchiveConversations, useDeleteConversations } from '@/api/conversations/batch'
import type { AppConversation } from '@/api/types'
import { Button } from '@/ui/form/button'
import { ConfirmDialog } from '@/ui/overlay/confirm-dialog'
import { canCopyFiles } from './copyable-files'
import { TagsDialog } from './tags-dialog'

export interface SelectionBarProps {
  selected: readonly AppConversation[]
  onClear: () => void
}

/** The actions for several selected conversations. */
export function SelectionBar({ selected, onClear }: SelectionBarProps) {
  const { t } = useTranslation()
  const [asked, setAsked] = useState<'tag' | 'archive' | 'delete' | null>(null)
  const remove = useDeleteConversations()
  const archive = useArchiveConversations()
  const archiveSandboxes = useArchiveSandboxes()
  const areArchived = selected.every((each) => each.archived)
  const close = () => setAsked(null)
  const count = selected.length
  const withFiles = selected.filter((each) => canCopyFiles(each) && each.sandbox_status !== 'ARCHIVED')
  function finish(done: string) {
    toast.success(done)
    close()
    onClear()
  }
  return (
    <div
      role="toolbar"
      aria-label={t('selection.label')}
      className="sticky top-2 z-10 mb-3 flex flex-wrap items-center gap-2 rounded-lg border border-border bg-raised px-3 py-2 shadow-overlay"
    >
      <p className="mr-auto text-sm font-medium" aria-live="polite">
        {t('selection.count', { count })}
      </p>
      <Button size="sm" icon={<Tag aria-hidden className="size-4" />} onClick={() => setAsked('tag')}>
        {t('selection.tag')}
      </Button>
      <Button
        size="sm"
        icon={<Package aria-hidden className="size-4" />}
        disabled={withFiles.length === 0}
        onClick={() => setAsked('archive')}
      >
        {t('selection.archive_sandboxes')}
      </Button>
      <Button
        size="sm"
        icon={
          areArchived ? (
            <ArchiveRestore aria-hidden className="size-4" />
          ) : (
            <Archive aria-hidden className="size-4" />
          )
        }
        isBusy={archive.isPending}
        onClick={() =>
          archive.mutate(
            { ids: selected.map(({ id }) => id), archived: !areArchived },
            {
              onSuccess: () =>
                finish(t(areArchived ? 'selection.unarchived' : 'selection.archived', { count })),
            },
          )
        }
      >
        {t(areArchived ? 'action.unarchive' : 'action.archive')}
      </Button>
      <Button
        size="sm"
        variant="danger"
        icon={<Trash2 aria-hidden className="size-4" />}
        onClick={() => setAsked('delete')}
      >
        {t('action.delete')}
      </Button>
      <Button size="sm" variant="ghost" icon={<X aria-hidden className="size-4" />} onClick={onClear}>
        {t('selection.clear')}
      </Button>
      {asked === 'tag' && <TagsDialog conversations={selected} onClose={close} />}
      <ConfirmDialog
        isOpen={asked === 'delete'}
        onOpenChange={close}
        title={t('selection.delete_title', { count })}
        description={t('selection.delete_text', { count })}
        confirmLabel={t('selection.delete_confirm', { count })}
        isBusy={remove.isPending}
        onConfirm={() =>
          remove.mutate(
            selected.map(({ id }) => id),
            { onSuccess: () => finish(t('selection.deleted', { count })) },
          )
        }
      />
      <ConfirmDialog
        isOpen={asked === 'archive'}
        onOpenChange={close}
        title={t('selection.archive_title', { count: withFiles.length })}
        description={t('selection.archive_text')}
        confirmLabel={t('selection.archive_sandboxes')}
        isBusy={archiveSandboxes.isPending}
        onConfirm={() =>
          archiveSandboxes.mutate(withFiles, {
            onSuccess: () => finish(t('selection.sandboxes_archived', { count: withFiles.length })),
          })
        }
      />
    </div>
  )
}
