import { useIsFetching, useQueryClient } from '@tanstack/react-query'
import clsx from 'clsx'
import { FolderTree, RefreshCw } from 'lucide-react'
import { useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { fileKeys } from '@/api/conversations/directories'
import type { ConversationRepository } from '@/api/conversations/repositories'
import { isAwake } from '@/events/status'
import { useConversation } from '@/events/use-conversation'
import { useRefreshWithFiles } from '@/events/use-refresh-with-files'
import { repositoryName } from '@/lib/text/repository-name'
import { Asleep } from '@/ui/feedback/asleep'
import { EmptyState } from '@/ui/feedback/empty-state'
import { IconButton } from '@/ui/form/icon-button'
import { DirectoryList } from './directory-list'
import { FileView, type OpenedFile } from './file-view'

export interface FilesProps {
  conversationId: string
  /** The repositories of the conversation, in order. */
  repositories: readonly ConversationRepository[]
  /** False until the conversation has started. Before that, there are no files. */
  isReady: boolean
}

/** The files of the conversation's repositories as they are now, to look at and to download. */
export function Files({ conversationId, repositories, isReady }: FilesProps) {
  const { t } = useTranslation()
  const canTell = useConversation(isAwake)
  const [file, setFile] = useState<OpenedFile | null>(null)
  const openedFrom = useRef<Element | null>(null)
  useRefreshWithFiles(conversationId, fileKeys.all)

  function handleOpen(opened: OpenedFile) {
    openedFrom.current = document.activeElement
    setFile(opened)
  }

  function handleBack() {
    setFile(null)
    const from = openedFrom.current
    if (from instanceof HTMLElement) requestAnimationFrame(() => from.focus())
  }

  if (!isReady) return <EmptyState icon={<FolderTree />} title={t('files.not_yet')} />
  if (!canTell) return <Asleep />
  return (
    <>
      {file !== null && (
        <FileView key={file.path} conversationId={conversationId} file={file} onBack={handleBack} />
      )}
      {/* The list stays, so that its opened directories are still open when the user comes back. */}
      <div hidden={file !== null}>
        <Toolbar conversationId={conversationId} repositories={repositories} />
        {repositories.map((repository) => (
          <Repository
            key={repository.directory}
            conversationId={conversationId}
            repository={repository}
            isOneOfSeveral={repositories.length > 1}
            onOpen={handleOpen}
          />
        ))}
      </div>
    </>
  )
}

interface ToolbarProps {
  conversationId: string
  repositories: readonly ConversationRepository[]
}

function Toolbar({ conversationId, repositories }: ToolbarProps) {
  const { t } = useTranslation()
  const queryClient = useQueryClient()
  const isFetching = useIsFetching({ queryKey: fileKeys.all(conversationId) }) > 0
  const only = repositories.length === 1 ? repositories[0] : undefined
  return (
    <div className="sticky top-0 z-10 flex min-h-11 items-center gap-1 border-b border-border bg-surface px-3">
      <p className="min-w-0 flex-1 truncate text-sm text-muted">
        {only && labelOf(only, t('files.workspace'))}
      </p>
      <IconButton
        size="sm"
        label={t('files.refresh')}
        icon={<RefreshCw aria-hidden className={clsx('size-4', isFetching && 'animate-spin')} />}
        onClick={() => void queryClient.invalidateQueries({ queryKey: fileKeys.all(conversationId) })}
      />
    </div>
  )
}

interface RepositoryProps {
  conversationId: string
  repository: ConversationRepository
  isOneOfSeveral: boolean
  onOpen: (file: OpenedFile) => void
}

function Repository({ conversationId, repository, isOneOfSeveral, onOpen }: RepositoryProps) {
  const { t } = useTranslation()
  const name = labelOf(repository, t('files.workspace'))
  return (
    <section className="py-1">
      {isOneOfSeveral && (
        <h3 className="truncate px-3 py-1.5 text-sm font-medium" title={repository.name}>
          {name}
        </h3>
      )}
      <DirectoryList
        conversationId={conversationId}
        path={repository.directory === null ? null : `../${repository.directory}`}
        label={t('files.list', { name })}
        onOpen={onOpen}
      />
    </section>
  )
}

function labelOf({ name }: ConversationRepository, ofWorkspace: string): string {
  return name === '' ? ofWorkspace : repositoryName(name)
}
