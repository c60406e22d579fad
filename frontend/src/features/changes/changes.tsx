import { useQuery } from '@tanstack/react-query'
import { FileDiff as FileIcon, MoonStar } from 'lucide-react'
import { useMemo, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { isApiError } from '@/api/errors'
import { gitPatchQuery, gitPushesQuery } from '@/api/git/git-changes'
import { isAwake } from '@/events/status'
import { useConversation } from '@/events/use-conversation'
import { EmptyState } from '@/ui/feedback/empty-state'
import { ErrorState } from '@/ui/feedback/error-state'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { ChangedFile } from './changed-file'
import { ChangesToolbar, type DiffView } from './changes-toolbar'
import { parsePatch } from './patch'
import { Pushes } from './pushes'
import { useRefreshWithEvents } from './use-refresh'

export interface ChangesProps {
  conversationId: string
  /** False until the conversation is up: before that there is nothing to ask. */
  isReady: boolean
}

/** Everything the agent changed, file by file, and what of it has left the sandbox. */
export function Changes({ conversationId, isReady }: ChangesProps) {
  const { t } = useTranslation()
  const pushes = useQuery({ ...gitPushesQuery(conversationId), enabled: isReady })
  // Together, or else the files would jump when the pushes come above them.
  if (isReady && pushes.isPending) return <ChangesLoading label={t('changes.loading')} />
  return (
    <>
      {isReady && <Pushes conversationId={conversationId} />}
      <ChangedFiles conversationId={conversationId} isReady={isReady} />
    </>
  )
}

function ChangedFiles({ conversationId, isReady }: ChangesProps) {
  const { t } = useTranslation()
  const canTell = useConversation(isAwake)
  const query = useQuery({ ...gitPatchQuery(conversationId), enabled: isReady && canTell })
  const [view, setView] = useState<DiffView>('unified')
  const files = useMemo(() => parsePatch(query.data ?? ''), [query.data])
  useRefreshWithEvents(conversationId)

  if (!isReady) return <EmptyState icon={<FileIcon />} title={t('changes.not_yet')} />
  if (query.isPending && !canTell) return <Asleep hint={t('changes.asleep_hint')} />
  if (query.isPending) return <ChangesLoading label={t('changes.loading')} />
  if (query.isError && query.data === undefined)
    return <ChangesError error={query.error} onRetry={() => void query.refetch()} />
  return (
    <div className="flex min-h-full flex-col">
      <ChangesToolbar
        conversationId={conversationId}
        files={files}
        patch={query.data ?? ''}
        view={view}
        onViewChange={setView}
        isRefreshing={query.isFetching}
        onRefresh={() => void query.refetch()}
      />
      {query.isError && <ErrorState className="m-3" title={t('changes.outdated')} error={query.error} />}
      {files.length === 0 ? (
        <EmptyState icon={<FileIcon />} title={t('changes.none')}>
          {t('changes.none_hint')}
        </EmptyState>
      ) : (
        <ul className="flex flex-col gap-3 p-3">
          {files.map((file, index) => (
            <ChangedFile key={file.path} file={file} view={view} isInitiallyOpen={index < 5} />
          ))}
        </ul>
      )}
    </div>
  )
}

function ChangesLoading({ label }: { label: string }) {
  return <SkeletonList rows={4} label={label} className="m-3" />
}

/** A sleeping or lost sandbox is a normal state of things, not a fault. */
function ChangesError({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  const { t } = useTranslation()
  const isAsleep = isApiError(error) && (error.status === 409 || error.status === 410)
  if (!isAsleep)
    return <ErrorState className="m-3" title={t('changes.failed')} error={error} onRetry={onRetry} />
  return <Asleep hint={error.detail} />
}

function Asleep({ hint }: { hint: string }) {
  const { t } = useTranslation()
  return (
    <EmptyState icon={<MoonStar />} title={t('changes.asleep')}>
      {hint}
    </EmptyState>
  )
}
