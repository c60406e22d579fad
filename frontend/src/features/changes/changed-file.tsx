import clsx from 'clsx'
import { ChevronRight, Copy } from 'lucide-react'
import { lazy, Suspense, useId, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { toast } from 'sonner'
import { copyText } from '@/lib/browser/copy-text'
import { Badge, type Tone } from '@/ui/feedback/badge'
import { ErrorBoundary } from '@/ui/feedback/error-boundary'
import { IconButton } from '@/ui/form/icon-button'
import { Skeleton } from '@/ui/feedback/skeleton'
import type { DiffView } from './changes-toolbar'
import { LineCounts } from './line-counts'
import type { FilePatch } from './patch'

const FileDiff = lazy(() => import('./file-diff').then((module) => ({ default: module.FileDiff })))

const STATUS_TONE: Record<FilePatch['status'], Tone> = {
  ADDED: 'success',
  UPDATED: 'accent',
  DELETED: 'danger',
  MOVED: 'warning',
}

export interface ChangedFileProps {
  file: FilePatch
  view: DiffView
  isInitiallyOpen: boolean
}

export function ChangedFile({ file, view, isInitiallyOpen }: ChangedFileProps) {
  const { t } = useTranslation()
  const [isOpen, setIsOpen] = useState(isInitiallyOpen)
  const bodyId = useId()

  async function handleCopy() {
    if (await copyText(file.text)) toast.success(t('changes.copied'))
    else toast.error(t('changes.copy_refused'))
  }

  return (
    <li className="overflow-hidden rounded-lg border border-border bg-raised">
      <div className="flex items-center pr-1 hover:bg-hover">
        <button
          type="button"
          aria-expanded={isOpen}
          aria-controls={bodyId}
          onClick={() => setIsOpen(!isOpen)}
          className="flex min-h-10 min-w-0 flex-1 items-center gap-2 px-3 text-left text-sm focus-visible:-outline-offset-2"
        >
          <ChevronRight
            aria-hidden
            className={clsx('size-3.5 shrink-0 text-faint transition-transform', isOpen && 'rotate-90')}
          />
          <span className="min-w-0 flex-1 truncate font-mono text-xs" title={file.path}>
            {file.previousPath && <span className="text-muted">{file.previousPath} → </span>}
            {file.path}
          </span>
          {!file.isBinary && <LineCounts additions={file.additions} deletions={file.deletions} />}
          <Badge tone={STATUS_TONE[file.status]}>{t(`changes.status.${file.status}`)}</Badge>
        </button>
        <IconButton
          size="sm"
          label={t('changes.copy_file', { path: file.path })}
          icon={<Copy aria-hidden className="size-3.5" />}
          onClick={() => void handleCopy()}
        />
      </div>
      {isOpen && (
        <div id={bodyId} className="border-t border-border">
          <ErrorBoundary
            title={t('changes.diff_failed')}
            resetKey={`${file.path}${file.additions}${file.deletions}`}
          >
            <Suspense fallback={<DiffPlaceholder file={file} />}>
              <FileDiff file={file} viewType={view} />
            </Suspense>
          </ErrorBoundary>
        </div>
      )}
    </li>
  )
}

const LINE_REM = 1.25
const MAX_PLACEHOLDER_LINES = 1_500

/**
 * A placeholder with about the height of the diff, so that the content below it does not move when the diff
 * appears.
 */
function DiffPlaceholder({ file }: { file: FilePatch }) {
  const lines = file.diff.hunks.reduce((sum, hunk) => sum + hunk.changes.length + 1, 0)
  const isLong = lines > MAX_PLACEHOLDER_LINES
  return (
    <div style={{ height: `${LINE_REM * (isLong || lines === 0 ? 2 : lines)}rem` }}>
      <Skeleton className="h-full rounded-none" />
    </div>
  )
}
