import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Anchor } from 'lucide-react'
import { lazy, Suspense, useCallback, useEffect, useMemo, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Link, Navigate, useParams } from 'react-router'
import { isWithoutSandbox } from '@/api/conversations/conversation-status'
import { conversationTitle } from '@/api/conversations/conversation-title'
import { conversationKeys } from '@/api/conversations/conversation-keys'
import { conversationQuery } from '@/api/conversations/conversations'
import { setConversation } from '@/api/conversations/conversation-cache'
import { isApiError } from '@/api/errors'
import type { AppConversation, StartTask } from '@/api/types'
import { ConversationProvider, useConversation, useConversationStore } from '@/events/use-conversation'
import { Chat, type FindControl } from '@/features/chat/chat'
import { ReadOnlyChat } from '@/features/chat/read-only-chat'
import { contentText, isTechnical } from '@/features/chat/timeline/rows'
import { ConversationHeader } from '@/features/chat/conversation-header'
import type { RowActions } from '@/features/chat/timeline/row-actions'
import { CheckpointsButton } from '@/features/checkpoints/checkpoints-button'
import { RestoreProvider } from '@/features/checkpoints/restore-provider'
import { RestoreButton, UndoButton } from '@/features/checkpoints/restore-button'
import { RepositoryConsent } from '@/features/consent/repository-consent'
import { canCopyFiles } from '@/features/conversations/copyable-files'
import { ForkDialog } from '@/features/conversations/fork-dialog'
import { HeaderMenu } from '@/features/conversations/header-menu'
import { KnowledgeButton } from '@/features/knowledge/knowledge-button'
import { ShareButton } from '@/features/sharing/share-button'
import { ShareDialog } from '@/features/sharing/share-dialog'
import { StartProgress } from '@/features/start/start-progress'
import { useDocumentTitle } from '@/lib/hooks/use-document-title'
import { buttonClass } from '@/ui/form/button'
import { EmptyState } from '@/ui/feedback/empty-state'
import { ErrorBoundary } from '@/ui/feedback/error-boundary'
import { ErrorState } from '@/ui/feedback/error-state'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { ConversationPanels } from './conversation-panels'
import { useConversationAddress, type ConversationAddress } from './use-conversation-address'

const Replay = lazy(() => import('@/features/replay/replay').then((module) => ({ default: module.Replay })))

const PatchFiles = lazy(() =>
  import('@/features/changes/patch-files').then((module) => ({ default: module.PatchFiles })),
)

const OWNER_ROW_ACTIONS: RowActions = {
  messageAction: (message, putBack) => {
    const text = contentText(message.llm_message.content)
    return <RestoreButton eventId={message.id} text={text} onChatRestored={() => putBack(text)} />
  },
  rewindAction: (rewind) => <UndoButton checkpoint={rewind.undo} />,
}

function renderShare({ id }: AppConversation, onClose: () => void) {
  return <ShareDialog conversationId={id} onClose={onClose} />
}

function renderPatch(patch: string) {
  return (
    <Suspense fallback={<PatchLoading />}>
      <PatchFiles patch={patch} />
    </Suspense>
  )
}

function PatchLoading() {
  const { t } = useTranslation()
  return <SkeletonList rows={2} label={t('changes.loading')} />
}

/** The page of one conversation: the timeline beside the changes, the served pages and the browser. */
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
  useDocumentTitle(conversation && conversationTitle(t, conversation))
  useListUpdate(streamed)
  const address = useConversationAddress(conversationId)
  const find = useFindControl()

  if (connection === 'signed_out') return <Navigate to="/sign-in" replace />
  const isMissing = isApiError(query.error) && query.error.status === 404
  if (connection === 'not_found' || isMissing) return <NotFound />
  if (conversation === undefined || query.isPending) {
    if (query.isError)
      return <ErrorState className="m-6" error={query.error} onRetry={() => void query.refetch()} />
    return <SkeletonList rows={5} label={t('chat.loading')} className="m-6" />
  }
  const access = query.data?.access ?? 'own'
  const isOwn = access === 'own'
  const hasSandbox = !isWithoutSandbox(conversation)
  return (
    <RestoreProvider conversationId={conversationId} renderPatch={renderPatch}>
      <div className="flex h-full min-h-0 flex-col">
        <ConversationHeader
          conversation={conversation}
          isOwn={isOwn}
          actions={
            conversation.start_status === 'READY' && (
              <>
                {isOwn && hasSandbox && (
                  <>
                    <CheckpointsButton conversationId={conversationId} />
                    <KnowledgeButton conversationId={conversationId} />
                  </>
                )}
                {isOwn && <ShareButton conversationId={conversationId} />}
                <HeaderMenu
                  conversation={{ ...conversation, access }}
                  renderShare={renderShare}
                  onFind={address.replayFrom === null ? find.onOpen : undefined}
                />
              </>
            )
          }
        />
        {isOwn && hasSandbox && conversation.start_status === 'READY' && (
          <RepositoryConsent conversationId={conversationId} />
        )}
        <div className="min-h-0 flex-1">
          {address.replayFrom === null ? (
            <CurrentConversation
              conversation={conversation}
              isOwn={isOwn}
              hasSandbox={hasSandbox}
              address={address}
              find={find}
            />
          ) : (
            <ErrorBoundary title={t('chat.failed')} resetKey={conversationId}>
              <Suspense fallback={<SkeletonList rows={4} label={t('chat.loading')} className="m-6" />}>
                <Replay
                  key={address.replayFrom}
                  from={address.replayFrom}
                  isHidden={isTechnical}
                  onCopyLink={address.copyReplayLink}
                  onClose={address.closeReplay}
                >
                  <ReadOnlyChat conversationId={conversationId} />
                </Replay>
              </Suspense>
            </ErrorBoundary>
          )}
        </div>
      </div>
    </RestoreProvider>
  )
}

function useFindControl(): FindControl {
  const [asked, setAsked] = useState(0)
  const [isOpen, setOpen] = useState(false)
  const onOpen = useCallback(() => {
    setOpen(true)
    setAsked((before) => before + 1)
  }, [])
  const onClose = useCallback(() => setOpen(false), [])
  return { isOpen, asked, onOpen, onClose }
}

/**
 * Writes the conversation from the stream into the lists, so that the sidebar is up to date before its next
 * reload.
 */
function useListUpdate(streamed: AppConversation | null) {
  const queryClient = useQueryClient()
  useEffect(() => {
    if (streamed !== null) setConversation(queryClient, streamed)
  }, [queryClient, streamed])
}

interface CurrentConversationProps {
  conversation: AppConversation
  isOwn: boolean
  hasSandbox: boolean
  address: ConversationAddress
  find: FindControl
}

/** The conversation in its present state, and not a replay. */
function CurrentConversation({ conversation, isOwn, hasSandbox, address, find }: CurrentConversationProps) {
  const { t } = useTranslation()
  const { copyEventLink, openReplay, eventId } = address
  const [forkedAt, setForkedAt] = useState<string | null>(null)
  const conversationId = conversation.id
  const canFork = isOwn && canCopyFiles(conversation)
  const rowActions = useMemo<RowActions>(
    () => ({
      ...(isOwn && hasSandbox && OWNER_ROW_ACTIONS),
      onCopyLink: copyEventLink,
      onReplay: openReplay,
      onFork: canFork ? setForkedAt : undefined,
    }),
    [isOwn, hasSandbox, canFork, copyEventLink, openReplay],
  )
  const chat = (
    <ErrorBoundary title={t('chat.failed')} resetKey={conversationId}>
      <Chat
        conversationId={conversationId}
        start={hasSandbox ? <Start /> : null}
        rowActions={rowActions}
        linkedEventId={eventId}
        find={find}
      />
    </ErrorBoundary>
  )
  return (
    <>
      {hasSandbox ? <ConversationPanels conversationId={conversationId} isOwn={isOwn} chat={chat} /> : chat}
      {forkedAt !== null && (
        <ForkDialog conversation={conversation} fromEventId={forkedAt} onClose={() => setForkedAt(null)} />
      )}
    </>
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

function NotFound() {
  const { t } = useTranslation()
  const queryClient = useQueryClient()
  // The conversation may have been deleted elsewhere, so the lists beside this page are loaded again.
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
