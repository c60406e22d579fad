import { useQuery } from '@tanstack/react-query'
import { ArrowLeft, Copy, Download, FileQuestion, RefreshCw } from 'lucide-react'
import { lazy, Suspense, useEffect, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { toast } from 'sonner'
import { fileContentQuery, useFileDownload, type DirectoryEntry } from '@/api/conversations/directories'
import { hintOfSleep, isApiError } from '@/api/errors'
import { copyText } from '@/lib/browser/copy-text'
import { fileSize } from '@/lib/text/file-size'
import { Asleep } from '@/ui/feedback/asleep'
import { EmptyState } from '@/ui/feedback/empty-state'
import { ErrorState } from '@/ui/feedback/error-state'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { IconButton } from '@/ui/form/icon-button'
import { ZoomableImage } from '@/ui/overlay/zoomable-image'
import { nameOf } from './paths'
import { isTooLarge, readFile, type ShownFile } from './shown-file'

const FileText = lazy(() => import('./file-text').then((module) => ({ default: module.FileText })))

export interface OpenedFile {
  /** Relative to the conversation's first repository. */
  path: string
  entry: DirectoryEntry
}

export interface FileViewProps {
  conversationId: string
  file: OpenedFile
  onBack: () => void
}

/** One file: its text with line numbers, or its picture, and the commands for it. */
export function FileView({ conversationId, file: { path, entry }, onBack }: FileViewProps) {
  const { t } = useTranslation()
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [])
  const isLarge = isTooLarge(path, entry.size ?? 0)
  const download = useFileDownload(conversationId)
  const query = useQuery({
    ...fileContentQuery(conversationId, path, (content) => readFile(path, content)),
    enabled: !isLarge,
  })
  const shown: ShownFile | undefined = isLarge ? { kind: 'large' } : query.data
  const text = shown?.kind === 'text' ? shown.text : null

  async function handleCopy() {
    if (await copyText(text ?? '')) toast.success(t('files.copied'))
    else toast.error(t('files.copy_refused'))
  }

  return (
    <section aria-label={path} className="flex h-full flex-col">
      <div className="flex min-h-11 shrink-0 items-center gap-1 border-b border-border bg-surface px-3">
        <IconButton
          size="sm"
          label={t('files.back')}
          icon={<ArrowLeft aria-hidden className="size-4 rtl:rotate-180" />}
          onClick={onBack}
        />
        <h3
          ref={heading}
          tabIndex={-1}
          title={path}
          className="min-w-0 flex-1 truncate font-mono text-xs outline-none"
        >
          {path}
        </h3>
        {text !== null && (
          <IconButton
            size="sm"
            label={t('files.copy')}
            icon={<Copy aria-hidden className="size-4" />}
            onClick={() => void handleCopy()}
          />
        )}
        <IconButton
          size="sm"
          label={t('files.download')}
          icon={<Download aria-hidden className="size-4" />}
          disabled={download.isPending}
          onClick={() => download.mutate(path)}
        />
        {!isLarge && (
          <IconButton
            size="sm"
            label={t('files.refresh')}
            icon={<RefreshCw aria-hidden className={query.isFetching ? 'size-4 animate-spin' : 'size-4'} />}
            onClick={() => void query.refetch()}
          />
        )}
      </div>
      {query.isError && shown !== undefined && (
        <ErrorState className="m-3" title={t('files.outdated')} error={query.error} />
      )}
      {shown !== undefined ? (
        <Content shown={shown} path={path} entry={entry} />
      ) : query.isError ? (
        <Failure error={query.error} onRetry={() => void query.refetch()} />
      ) : (
        <SkeletonList rows={6} label={t('files.loading_file')} className="m-3" />
      )}
    </section>
  )
}

function Content({ shown, path, entry }: { shown: ShownFile; path: string; entry: DirectoryEntry }) {
  const { t, i18n } = useTranslation()
  switch (shown.kind) {
    case 'text':
      return (
        <Suspense fallback={<SkeletonList rows={6} label={t('files.loading_file')} className="m-3" />}>
          <FileText text={shown.text} path={path} />
        </Suspense>
      )
    case 'image':
      return (
        <div className="min-h-0 flex-1 overflow-auto p-3">
          <ZoomableImage src={shown.url} alt={nameOf(path)} />
        </div>
      )
    case 'empty':
      return <EmptyState icon={<FileQuestion />} title={t('files.empty_file')} />
    case 'binary':
      return <EmptyState icon={<FileQuestion />} title={t('files.binary')} />
    case 'large':
      return (
        <EmptyState
          icon={<FileQuestion />}
          title={t('files.large', { size: fileSize(entry.size ?? 0, i18n.language) })}
        />
      )
  }
}

function Failure({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  const { t } = useTranslation()
  const asleep = hintOfSleep(error)
  if (asleep !== null) return <Asleep hint={asleep} />
  if (isApiError(error) && error.status === 404)
    return <EmptyState icon={<FileQuestion />} title={t('files.gone')} />
  return <ErrorState className="m-3" title={t('files.file_failed')} error={error} onRetry={onRetry} />
}
