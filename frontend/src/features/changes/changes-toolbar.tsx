import { Columns2, Copy, Download, RefreshCw, Rows2 } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { toast } from 'sonner'
import { copyText } from '@/lib/browser/copy-text'
import { saveFile } from '@/lib/browser/save-file'
import { repositoryName } from '@/lib/text/repository-name'
import { IconButton } from '@/ui/form/icon-button'
import { LineCounts } from './line-counts'
import type { FilePatch } from './patch'

export type DiffView = 'unified' | 'split'

export interface ChangesToolbarProps {
  /** The name of the saved file. */
  name: string
  /** The repository, if the conversation has several. Otherwise null. */
  repository: string | null
  files: readonly FilePatch[]
  patch: string
  view: DiffView
  onViewChange: (view: DiffView) => void
  isRefreshing: boolean
  onRefresh: () => void
}

export function ChangesToolbar(props: ChangesToolbarProps) {
  const { t } = useTranslation()
  const { name, repository, files, patch, view, onViewChange, isRefreshing, onRefresh } = props
  const total = (key: 'additions' | 'deletions') => files.reduce((sum, file) => sum + file[key], 0)
  const hasChanges = files.length > 0

  async function handleCopy() {
    if (await copyText(patch)) toast.success(t('changes.copied'))
    else toast.error(t('changes.copy_refused'))
  }

  return (
    <div className="sticky top-0 z-10 flex min-h-11 items-center gap-1 border-b border-border bg-surface px-3">
      {repository !== null && (
        <h3 className="min-w-0 truncate text-sm font-medium" title={repository}>
          {repositoryName(repository)}
        </h3>
      )}
      <p className="flex min-w-0 flex-1 items-center gap-2 truncate text-sm text-muted">
        {hasChanges && (
          <>
            {t('changes.files', { count: files.length })}
            <LineCounts additions={total('additions')} deletions={total('deletions')} />
          </>
        )}
      </p>
      {hasChanges && (
        <>
          <IconButton
            size="sm"
            label={t(view === 'unified' ? 'changes.split' : 'changes.unified')}
            icon={
              view === 'unified' ? (
                <Columns2 aria-hidden className="size-4" />
              ) : (
                <Rows2 aria-hidden className="size-4" />
              )
            }
            onClick={() => onViewChange(view === 'unified' ? 'split' : 'unified')}
          />
          <IconButton
            size="sm"
            label={t('changes.copy')}
            icon={<Copy aria-hidden className="size-4" />}
            onClick={() => void handleCopy()}
          />
          <IconButton
            size="sm"
            label={t('changes.download')}
            icon={<Download aria-hidden className="size-4" />}
            // A link to the API would be opened without the page proof, and the server would refuse it.
            onClick={() => saveFile(new Blob([patch], { type: 'text/x-diff' }), name)}
          />
        </>
      )}
      <IconButton
        size="sm"
        label={t('changes.refresh')}
        icon={<RefreshCw aria-hidden className={isRefreshing ? 'size-4 animate-spin' : 'size-4'} />}
        onClick={onRefresh}
      />
    </div>
  )
}
