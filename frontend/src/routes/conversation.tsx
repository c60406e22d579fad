import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Anchor } from 'lucide-react'
import { lazy, Suspense, useCallback, useEffect } from 'react'
import { useTranslation } from 'react-i18next'
import { Link, Navigate, useParams } from 'react-router'
import { conversationKeys, conversationQuery, setConversation } from '@/api/conversations'
import { isApiError } from '@/api/errors'
import type { AppConversation, StartTask } from '@/api/types'
import { ConversationProvider, useConversation, useConversationStore } from '@/events/use-conversation'
import { Chat } from '@/features/chat/chat'
import { ConversationHeader } from '@/features/chat/conversation-header'
import { StartProgress } from '@/features/start/start-progress'
import { useDocumentTitle } from '@/lib/use-document-title'
import { useMediaQuery } from '@/lib/use-media-query'
import { buttonClass } from '@/ui/button'
import { EmptyState } from '@/ui/empty-state'
import { ErrorBoundary } from '@/ui/error-boundary'
import { ErrorState } from '@/ui/error-state'
import { SkeletonList } from '@/ui/skeleton'
import { SplitPanels } from '@/ui/split-panels'

const Changes = lazy(() =>
  import('@/features/changes/changes').then((module) => ({ default: module.Changes })),
)

/** One conversation: its timeline beside its changes. */
export function ConversationRoute() {
  const { conversationId = '' } = useParams()
  return (
    <ConversationProvider key={conversationId} conversationId={conversationId}>
      <ConversationPage conversationId={conversationId} />
    </ConversationProvider>
  )
}

function ConversationPage({ conversationId }: { conversationId: string }) {
  const { t } = useTranslation()
  const query = useQuery(conversationQuery(conversationId))
  const streamed = useConversation((state) => state.view.conversation)
  const connection = useConversation((state) => state.connection.state)
  const conversation = streamed ?? query.data
  useDocumentTitle(conversation?.title)
  useListedAs(streamed)

  if (connection === 'signed_out') return <Navigate to="/sign-in" replace />
  const isMissing = isApiError(query.error) && query.error.status === 404
  if (connection === 'not_found' || isMissing) return <NotFound />
  if (conversation === undefined) {
    if (query.isError)
      return <ErrorState className="m-6" error={query.error} onRetry={() => void query.refetch()} />
    return <SkeletonList rows={5} label={t('chat.loading')} className="m-6" />
  }
  return (
    <div className="flex h-full min-h-0 flex-col">
      <ConversationHeader conversation={conversation} />
      <div className="min-h-0 flex-1">
        <Panels conversationId={conversationId} />
      </div>
    </div>
  )
}

/** Lists elsewhere on the page (the sidebar) show what the stream knows, without waiting for their next poll. */
function useListedAs(streamed: AppConversation | null) {
  const queryClient = useQueryClient()
  useEffect(() => {
    if (streamed !== null) setConversation(queryClient, streamed)
  }, [queryClient, streamed])
}

function Panels({ conversationId }: { conversationId: string }) {
  const { t } = useTranslation()
  const isWide = useMediaQuery('(min-width: 1100px)')
  const chat = (
    <ErrorBoundary title={t('chat.failed')} resetKey={conversationId}>
      <Chat conversationId={conversationId} start={<Start />} />
    </ErrorBoundary>
  )
  const changes = (
    <ErrorBoundary title={t('changes.failed')} resetKey={conversationId}>
      <Suspense fallback={<SkeletonList rows={4} label={t('changes.loading')} className="m-3" />}>
        <ChangesPanel conversationId={conversationId} />
      </Suspense>
    </ErrorBoundary>
  )
  return (
    <SplitPanels
      main={{ label: t('chat.chat'), content: chat }}
      side={{ label: t('changes.title'), content: changes }}
      isSplit={isWide}
      storageKey="slipway.conversation.split"
      label={t('chat.panels')}
      dividerLabel={t('chat.resize')}
      initialShare={58}
    />
  )
}

function Start() {
  const store = useConversationStore()
  const task = useConversation((state) => state.view.startTask)
  const handleRetried = useCallback(
    (retried: StartTask) => store.receive({ type: 'start_task', task: retried }),
    [store],
  )
  return task && <StartProgress task={task} onRetried={handleRetried} />
}

function ChangesPanel({ conversationId }: { conversationId: string }) {
  const isReady = useConversation(
    ({ view }) => (view.startTask?.status ?? view.conversation?.start_status) === 'READY',
  )
  return <Changes conversationId={conversationId} isReady={isReady} />
}

function NotFound() {
  const { t } = useTranslation()
  const queryClient = useQueryClient()
  // What was deleted elsewhere must not stay in the lists beside this page.
  useEffect(() => {
    void queryClient.invalidateQueries({ queryKey: conversationKeys.lists })
  }, [queryClient])
  return (
    <div className="grid min-h-full place-items-center">
      <EmptyState
        icon={<Anchor />}
        title={<h1>{t('chat.not_found')}</h1>}
        action={
          <Link to="/conversations" className={buttonClass('secondary')}>
            {t('chat.all_conversations')}
          </Link>
        }
      >
        {t('chat.not_found_hint')}
      </EmptyState>
    </div>
  )
}
