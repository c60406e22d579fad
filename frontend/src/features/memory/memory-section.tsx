import { useQuery } from '@tanstack/react-query'
import { NotebookPen } from 'lucide-react'
import { useMemo, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { memoryNotesQuery } from '@/api/agents/memory'
import type { MemoryNoteSummary } from '@/api/agents/memory-types'
import { Card } from '@/ui/layout/card'
import { EmptyState } from '@/ui/feedback/empty-state'
import { ErrorState } from '@/ui/feedback/error-state'
import { SectionHeader } from '@/ui/layout/section-header'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { DeleteNoteDialog } from './delete-note-dialog'
import { NoteDialog } from './note-dialog'
import { NoteRow } from './note-row'
import { Proposals } from './proposals'

/** The notes of agents for later conversations, by repository. */
export function MemorySection() {
  const { t } = useTranslation()
  const query = useQuery(memoryNotesQuery())
  const [opened, setOpened] = useState<MemoryNoteSummary | null>(null)
  const [doomed, setDoomed] = useState<MemoryNoteSummary | null>(null)
  const repositories = useMemo(() => byRepository(query.data ?? []), [query.data])
  return (
    <section aria-label={t('memory.title')}>
      <SectionHeader title={t('memory.title')} lead={t('memory.lead')} />
      <Proposals />
      {query.isPending && <SkeletonList rows={3} label={t('memory.loading')} className="h-16" />}
      {query.isError && !query.data && (
        <ErrorState
          error={query.error}
          title={t('memory.load_failed')}
          onRetry={() => void query.refetch()}
        />
      )}
      {query.data?.length === 0 && (
        <Card>
          <EmptyState icon={<NotebookPen />} title={t('memory.empty')}>
            {t('memory.empty_hint')}
          </EmptyState>
        </Card>
      )}
      <div className="flex flex-col gap-6">
        {repositories.map(([repository, notes]) => (
          <section key={repository} aria-label={repository}>
            <h3 className="mb-2 flex flex-wrap items-baseline gap-x-2 text-sm">
              <span className="min-w-0 font-medium break-all">{repository}</span>
              <span className="text-xs text-muted">{t('memory.notes', { count: notes.length })}</span>
            </h3>
            <Card>
              <ul className="divide-y divide-border">
                {notes.map((note) => (
                  <NoteRow
                    key={note.id}
                    note={note}
                    onOpen={() => setOpened(note)}
                    onDelete={() => setDoomed(note)}
                  />
                ))}
              </ul>
            </Card>
          </section>
        ))}
      </div>
      {opened && <NoteDialog note={opened} onClose={() => setOpened(null)} />}
      {doomed && <DeleteNoteDialog note={doomed} onClose={() => setDoomed(null)} />}
    </section>
  )
}

function byRepository(notes: MemoryNoteSummary[]): [string, MemoryNoteSummary[]][] {
  const found = new Map<string, MemoryNoteSummary[]>()
  for (const note of notes) found.set(note.repository, [...(found.get(note.repository) ?? []), note])
  return [...found]
}
