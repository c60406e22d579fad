import { useInfiniteQuery } from '@tanstack/react-query'
import clsx from 'clsx'
import { ChevronRight, File, FileQuestion, Folder, FolderOpen, Link } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { directoryQuery, type DirectoryEntry } from '@/api/conversations/directories'
import { fileSize } from '@/lib/text/file-size'
import { ErrorState } from '@/ui/feedback/error-state'
import { Skeleton } from '@/ui/feedback/skeleton'
import { Button } from '@/ui/form/button'
import type { OpenedFile } from './file-view'
import { pathIn } from './paths'

export interface DirectoryListProps {
  conversationId: string
  /** Relative to the conversation's first repository; null for this repository. */
  path: string | null
  label: string
  /** How many directories are around this one. */
  depth?: number
  onOpen: (file: OpenedFile) => void
}

/** What is in a directory. A directory in it is loaded when it is opened, and shown below its name. */
export function DirectoryList({ conversationId, path, label, depth = 0, onOpen }: DirectoryListProps) {
  const { t } = useTranslation()
  const query = useInfiniteQuery(directoryQuery(conversationId, path))
  if (query.isPending)
    return (
      <div role="status" aria-label={t('files.loading')} style={indent(depth)} className="py-2 pr-3">
        <Skeleton className="h-4 w-40" />
      </div>
    )
  if (query.data === undefined)
    return (
      <ErrorState
        className="m-3"
        title={t('files.failed')}
        error={query.error}
        onRetry={() => void query.refetch()}
      />
    )
  const entries = query.data.pages.flatMap(({ items }) => items)
  return (
    <>
      {query.isError && <ErrorState className="m-3" title={t('files.outdated')} error={query.error} />}
      {entries.length === 0 && (
        <p style={indent(depth)} className="py-1.5 text-sm text-muted">
          {t('files.empty')}
        </p>
      )}
      <ul aria-label={label}>
        {entries.map((entry) => (
          <Entry
            key={`${entry.kind}/${entry.name}`}
            conversationId={conversationId}
            path={pathIn(path, entry.name)}
            entry={entry}
            depth={depth}
            onOpen={onOpen}
          />
        ))}
      </ul>
      {query.hasNextPage && (
        <Button
          size="sm"
          variant="ghost"
          className="m-1"
          isBusy={query.isFetchingNextPage}
          onClick={() => void query.fetchNextPage()}
        >
          {t('files.more')}
        </Button>
      )}
    </>
  )
}

interface EntryProps {
  conversationId: string
  path: string
  entry: DirectoryEntry
  depth: number
  onOpen: (file: OpenedFile) => void
}

function Entry({ conversationId, path, entry, depth, onOpen }: EntryProps) {
  const { t, i18n } = useTranslation()
  const [isOpen, setIsOpen] = useState(false)
  const name = (
    <>
      <span className="min-w-0 truncate" title={entry.name}>
        {entry.name}
      </span>
      {entry.is_link && (
        <Link role="img" aria-label={t('files.link')} className="size-3 shrink-0 text-faint" />
      )}
    </>
  )
  if (entry.kind === 'other')
    return (
      <li style={indent(depth)} className="flex min-h-8 items-center gap-2 pr-3 text-sm text-muted">
        <FileQuestion aria-hidden className="ms-5.5 size-4 shrink-0 text-faint" />
        {name}
        <span className="ms-auto shrink-0 text-xs">{t('files.unopened')}</span>
      </li>
    )
  if (entry.kind === 'file')
    return (
      <li>
        <button
          type="button"
          onClick={() => onOpen({ path, entry })}
          style={indent(depth)}
          className={clsx(ROW, 'pl-5.5')}
        >
          <File aria-hidden className="ms-5.5 size-4 shrink-0 text-faint" />
          {name}
          <span className="ms-auto shrink-0 text-xs text-muted">
            {fileSize(entry.size ?? 0, i18n.language)}
          </span>
        </button>
      </li>
    )
  const Icon = isOpen ? FolderOpen : Folder
  return (
    <li>
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={() => setIsOpen(!isOpen)}
        style={indent(depth)}
        className={ROW}
      >
        <ChevronRight
          aria-hidden
          className={clsx('size-3.5 shrink-0 text-faint transition-transform', isOpen && 'rotate-90')}
        />
        <Icon aria-hidden className="size-4 shrink-0 text-accent" />
        {name}
      </button>
      {isOpen && (
        <DirectoryList
          conversationId={conversationId}
          path={path}
          label={t('files.list', { name: entry.name })}
          depth={depth + 1}
          onOpen={onOpen}
        />
      )}
    </li>
  )
}

const ROW =
  'flex min-h-8 w-full items-center gap-2 pr-3 text-left text-sm hover:bg-hover focus-visible:-outline-offset-2 pointer-coarse:min-h-10'

const FIRST_REM = 0.75
const LEVEL_REM = 1

function indent(depth: number) {
  return { paddingInlineStart: `${FIRST_REM + depth * LEVEL_REM}rem` }
}
