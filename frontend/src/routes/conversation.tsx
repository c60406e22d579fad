import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Anchor } from 'lucide-react'
import { lazy, Suspense, useCallback, useEffect, useMemo, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { Link, Navigate, useParams } from 'react-router'
import { isImported } from '@/api/conversations/conversation-status'
import { conversationTitle } from '@/api/conversations/conversation-title'
import { conversationKeys, conversationQuery, setConversation } from '@/api/conversations/conversations'
import { repositoriesOf } from '@/api/conversations/repositories'
import { isApiError } from '@/api/errors'
import type { Screen as ScreenName } from '@/api/sandboxes/runtime-plugins'
import type { AppConversation, StartTask } from '@/api/types'
import type { ConversationView } from '@/events/fold/reduce'
import { ConversationProvider, useConversation, useConversationStore } from '@/events/use-conversation'
import { Chat } from '@/features/chat/chat'
import { ReadOnlyChat } from '@/features/chat/read-only-chat'
import { contentText, isTechnical } from '@/features/chat/timeline/rows'
import { ConversationHeader } from '@/features/chat/conversation-header'
import type { ChatSlots } from '@/features/chat/timeline/slots'
import { CheckpointsButton } from '@/features/checkpoints/checkpoints-button'
import { RestoreProvider } from '@/features/checkpoints/restore'
import { RestoreButton, UndoButton } from '@/features/checkpoints/restore-button'
import { RepositoryConsent } from '@/features/consent/repository-consent'
import { HeaderMenu } from '@/features/conversations/header-menu'
import { KnowledgeButton } from '@/features/knowledge/knowledge-button'
import { ShareButton } from '@/features/sharing/share-button'
import { ShareDialog } from '@/features/sharing/share-dialog'
import { useScreens } from '@/features/screens/use-screens'
import { StartProgress } from '@/features/start/start-progress'
import { useDocumentTitle } from '@/lib/hooks/use-document-title'
import { useMediaQuery } from '@/lib/hooks/use-media-query'
import { buttonClass } from '@/ui/form/button'
import { EmptyState } from '@/ui/feedback/empty-state'
import { ErrorBoundary } from '@/ui/feedback/error-boundary'
import { ErrorState } from '@/ui/feedback/error-state'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { SplitPanels } from '@/ui/layout/split-panels'
import { useConversationAddress, type ConversationAddress } from './use-conversation-address'

const Changes = lazy(() =>
  import('@/features/changes/changes').then((module) => ({ default: module.Changes })),
)

const PullRequests = lazy(() =>
  import('@/features/pull-requests/pull-requests').then((module) => ({ default: module.PullRequests })),
)

const Browser = lazy(() =>
  import('@/features/browser/browser').then((module) => ({ default: module.Browser })),
)

const Replay = lazy(() => import('@/features/replay/replay').then((module) => ({ default: module.Replay })))

const Preview = lazy(() =>
  import('@/features/preview/preview').then((module) => ({ default: module.Preview })),
)

const Screen = lazy(() => import('@/features/screens/screen').then((module) => ({ default: module.Screen })))

const PatchFiles = lazy(() =>
  import('@/features/changes/patch-files').then((module) => ({ default: module.PatchFiles })),
)

const OWNER_SLOTS: ChatSlots = {
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

/** One conversation: its timeline beside its changes, the pages it serves and its browser. */
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
  useListedAs(streamed)
  const address = useConversationAddress(conversationId)

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
  const hasSandbox = !isImported(conversation)
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
                <HeaderMenu conversation={{ ...conversation, access }} renderShare={renderShare} />
              </>
            )
          }
        />
        {isOwn && hasSandbox && conversation.start_status === 'READY' && (
          <RepositoryConsent conversationId={conversationId} />
        )}
        <div className="min-h-0 flex-1">
          {address.replayFrom === null ? (
            <Present
              conversationId={conversationId}
              isOwn={isOwn}
              hasSandbox={hasSandbox}
              address={address}
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

/** Lists elsewhere on the page (the sidebar) show what the stream knows, without waiting for their next poll. */
function useListedAs(streamed: AppConversation | null) {
  const queryClient = useQueryClient()
  useEffect(() => {
    if (streamed !== null) setConversation(queryClient, streamed)
  }, [queryClient, streamed])
}

interface PresentProps {
  conversationId: string
  isOwn: boolean
  hasSandbox: boolean
  address: ConversationAddress
}

/** The conversation as it is now. */
function Present({ conversationId, isOwn, hasSandbox, address }: PresentProps) {
  const { t } = useTranslation()
  const { copyEventLink, openReplay, eventId } = address
  const slots = useMemo<ChatSlots>(
    () => ({ ...(isOwn && hasSandbox && OWNER_SLOTS), onCopyLink: copyEventLink, onReplay: openReplay }),
    [isOwn, hasSandbox, copyEventLink, openReplay],
  )
  const chat = (
    <ErrorBoundary title={t('chat.failed')} resetKey={conversationId}>
      <Chat
        conversationId={conversationId}
        start={hasSandbox ? <Start /> : null}
        slots={slots}
        linkedEventId={eventId}
      />
    </ErrorBoundary>
  )
  return hasSandbox ? <Panels conversationId={conversationId} isOwn={isOwn} chat={chat} /> : chat
}

interface PanelsProps {
  conversationId: string
  isOwn: boolean
  chat: ReactNode
}

function Panels({ conversationId, isOwn, chat }: PanelsProps) {
  const { t } = useTranslation()
  const hasBrowser = useConversation((state) => isOwn && state.view.sight !== null)
  // Ports and screens are for the owner.
  const sandboxId = useConversation((state) => (isOwn ? (state.view.conversation?.sandbox_id ?? null) : null))
  const screens = useScreens(sandboxId)
  const conversation = useConversation(({ view }) => view.conversation)
  const hasHost = useConversation(({ view }) => isReady(view) && isHosted(view.conversation))
  const isWide = useMediaQuery('(min-width: 1100px)')
  const changes = (
    <ErrorBoundary title={t('changes.failed')} resetKey={conversationId}>
      <Suspense fallback={<SkeletonList rows={4} label={t('changes.loading')} className="m-3" />}>
        <ChangesPanel conversationId={conversationId} />
      </Suspense>
    </ErrorBoundary>
  )
  const pullRequests = hasHost && (
    <ErrorBoundary title={t('pull_requests.failed')} resetKey={conversationId}>
      <Suspense fallback={<SkeletonList rows={2} label={t('pull_requests.loading')} className="m-3" />}>
        <PullRequests conversationId={conversationId} conversation={conversation} isOwn={isOwn} />
      </Suspense>
    </ErrorBoundary>
  )
  const browser = (
    <ErrorBoundary title={t('browser.failed')} resetKey={conversationId}>
      <Suspense fallback={<SkeletonList rows={4} label={t('browser.loading')} className="m-3" />}>
        <Browser conversationId={conversationId} />
      </Suspense>
    </ErrorBoundary>
  )
  const preview = sandboxId !== null && (
    <ErrorBoundary title={t('preview.failed')} resetKey={conversationId}>
      <Suspense fallback={<SkeletonList rows={3} label={t('preview.loading')} className="m-3" />}>
        <Preview key={sandboxId} sandboxId={sandboxId} conversationId={conversationId} />
      </Suspense>
    </ErrorBoundary>
  )
  const screen = (name: ScreenName, id: string) => ({
    value: name,
    label: t(`screens.${name}`),
    content: (
      <ErrorBoundary title={t('screens.failed')} resetKey={conversationId}>
        <Suspense>
          <Screen sandboxId={id} conversationId={conversationId} screen={name} />
        </Suspense>
      </ErrorBoundary>
    ),
  })
  return (
    <SplitPanels
      main={{ label: t('chat.chat'), content: chat }}
      sides={[
        { value: 'changes', label: t('changes.title'), content: changes },
        ...(hasHost
          ? [{ value: 'pull_requests', label: t('pull_requests.title'), content: pullRequests }]
          : []),
        ...(sandboxId !== null ? [{ value: 'preview', label: t('preview.title'), content: preview }] : []),
        ...(hasBrowser ? [{ value: 'browser', label: t('browser.title'), content: browser }] : []),
        ...(sandboxId === null ? [] : screens.map((name) => screen(name, sandboxId))),
      ]}
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
  const conversation = useConversation(({ view }) => view.conversation)
  const repositories = useMemo(() => repositoriesOf(conversation), [conversation])
  const isUp = useConversation(({ view }) => isReady(view))
  return <Changes conversationId={conversationId} repositories={repositories} isReady={isUp} />
}

function isReady({ startTask, conversation }: ConversationView): boolean {
  return (startTask?.status ?? conversation?.start_status) === 'READY'
}

/** Whether the repository is at a git host, and not on the server or missing. */
function isHosted(conversation: AppConversation | null): boolean {
  const repository = conversation?.selected_repository
  return Boolean(repository) && !/^(\/|~|\.|file:)/.test(repository ?? '')
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
