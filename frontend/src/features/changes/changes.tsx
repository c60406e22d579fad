import { useQueries, useQuery } from '@tanstack/react-query'
import { FileDiff as FileIcon } from 'lucide-react'
import { useMemo, useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { ConversationRepository } from '@/api/conversations/repositories'
import { hintOfSleep } from '@/api/errors'
import { gitChangeKeys, gitPatchQuery, gitPushesQuery } from '@/api/git/git-changes'
import { isAwake } from '@/events/status'
import { useConversation } from '@/events/use-conversation'
import { useRefreshWithFiles } from '@/events/use-refresh-with-files'
import { Asleep } from '@/ui/feedback/asleep'
import { EmptyState } from '@/ui/feedback/empty-state'
import { ErrorState } from '@/ui/feedback/error-state'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { ChangedFile } from './changed-file'
import { ChangesToolbar, type DiffView } from './changes-toolbar'
import { parsePatch } from './patch'
import { Pushes } from './pushes'

export interface ChangesProps {
  conversationId: string
  /** The repositories of the conversation, in order. */
  repositories: readonly ConversationRepository[]
  /** False until the conversation has started. Before that, there are no changes to load. */
  isReady: boolean
}

/** All changes of the agent, by repository and by file, and the pushes that left the sandbox. */
export function Changes({ conversationId, repositories, isReady }: ChangesProps) {
  const { t } = useTranslation()
  const pushes = useQuery({ ...gitPushesQuery(conversationId), enabled: isReady })
  useRefreshWithFiles(conversationId, gitChangeKeys.all)
  // The pushes and the files are shown together. Otherwise the files would move down when the pushes appear
  // above them.
  if (isReady && pushes.isPending) return <ChangesLoading label={t('changes.loading')} />
  return (
    <>
      {isReady && <Pushes conversationId={conversationId} namesRepository={repositories.length > 1} />}
      <ChangedRepositories conversationId={conversationId} repositories={repositories} isReady={isReady} />
    </>
  )
}

function ChangedRepositories({ conversationId, repositories, isReady }: ChangesProps) {
  const { t } = useTranslation()
  const canTell = useConversation(isAwake)
  const [view, setView] = useState<DiffView>('unified')
  const queries = useQueries({
    queries: repositories.map(({ directory }) => ({
      ...gitPatchQuery(conversationId, directory),
      enabled: isReady && canTell,
    })),
  })
  const asleep = queries.map(({ data, error }) => (data === undefined ? hintOfSleep(error) : null))

  if (!isReady) return <EmptyState icon={<FileIcon />} title={t('changes.not_yet')} />
  if (!canTell && queries.every(({ isPending }) => isPending)) return <Asleep />
  // All repositories are in the same sandbox, so one hint is enough.
  if (asleep[0] && asleep.every((hint) => hint !== null)) return <Asleep hint={asleep[0]} />
  return repositories.map((repository) => (
    <ChangedFiles
      key={repository.directory}
      conversationId={conversationId}
      repository={repository}
      isOneOfSeveral={repositories.length > 1}
      isAsked={canTell}
      view={view}
      onViewChange={setView}
    />
  ))
}

interface ChangedFilesProps {
  conversationId: string
  repository: ConversationRepository
  isOneOfSeveral: boolean
  isAsked: boolean
  view: DiffView
  onViewChange: (view: DiffView) => void
}

function ChangedFiles(props: ChangedFilesProps) {
  const { conversationId, repository, isOneOfSeveral, isAsked, view, onViewChange } = props
  const { t } = useTranslation()
  const query = useQuery({ ...gitPatchQuery(conversationId, repository.directory), enabled: isAsked })
  const files = useMemo(() => parsePatch(query.data ?? ''), [query.data])

  if (query.isPending) return <ChangesLoading label={t('changes.loading')} />
  const isMissing = query.isError && query.data === undefined
  if (isMissing && !isOneOfSeveral)
    return <ChangesError error={query.error} onRetry={() => void query.refetch()} />
  return (
    <section
      aria-label={isOneOfSeveral ? repository.name : t('changes.title')}
      className={isOneOfSeveral ? 'flex flex-col' : 'flex min-h-full flex-col'}
    >
      <ChangesToolbar
        name={fileName(conversationId, repository)}
        repository={isOneOfSeveral ? repository.name : null}
        files={files}
        patch={query.data ?? ''}
        view={view}
        onViewChange={onViewChange}
        isRefreshing={query.isFetching}
        onRefresh={() => void query.refetch()}
      />
      {query.isError && (
        <ErrorState
          className="m-3"
          title={t(isMissing ? 'changes.failed' : 'changes.outdated')}
          error={query.error}
        />
      )}
      {!isMissing && files.length === 0 && isOneOfSeveral && (
        <p className="p-3 text-sm text-muted">{t('changes.none')}</p>
      )}
      {files.length === 0 && !isOneOfSeveral && (
        <EmptyState icon={<FileIcon />} title={t('changes.none')}>
          {t('changes.none_hint')}
        </EmptyState>
      )}
      {files.length > 0 && (
        <ul className="flex flex-col gap-3 p-3">
          {files.map((file, index) => (
            <ChangedFile key={file.path} file={file} view={view} isInitiallyOpen={index < 5} />
          ))}
        </ul>
      )}
    </section>
  )
}

function fileName(conversationId: string, { directory }: ConversationRepository): string {
  return directory === null ? `${conversationId}.patch` : `${conversationId}-${directory}.patch`
}

function ChangesLoading({ label }: { label: string }) {
  return <SkeletonList rows={4} label={label} className="m-3" />
}

function ChangesError({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  const { t } = useTranslation()
  return <ErrorState className="m-3" title={t('changes.failed')} error={error} onRetry={onRetry} />
}
