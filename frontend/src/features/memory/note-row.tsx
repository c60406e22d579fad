import { Trash2 } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import type { MemoryNoteSummary } from '@/api/agents/memory-types'
import { formatAge, formatDateTime } from '@/lib/text/time'
import { IconButton } from '@/ui/form/icon-button'

export interface NoteRowProps {
  note: MemoryNoteSummary
  onOpen: () => void
  onDelete: () => void
}

export function NoteRow({ note, onOpen, onDelete }: NoteRowProps) {
  const { t } = useTranslation()
  return (
    <li className="flex items-center gap-2 py-1 pr-2">
      <button
        type="button"
        aria-label={t('memory.open_named', { title: note.title })}
        onClick={onOpen}
        className="min-w-0 flex-1 rounded-md px-4 py-2 text-left hover:text-accent"
      >
        <span className="block truncate font-medium">{note.title}</span>
        <span className="block truncate text-xs text-muted" title={formatDateTime(note.updated_at)}>
          <code>{note.name}</code> · {t('memory.updated', { age: formatAge(note.updated_at) })}
        </span>
      </button>
      <IconButton
        size="sm"
        label={t('memory.delete_named', { title: note.title })}
        icon={<Trash2 aria-hidden className="size-4" />}
        onClick={onDelete}
      />
    </li>
  )
}
