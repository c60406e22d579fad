import { lazy, Suspense, useMemo, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { repositoriesOf } from '@/api/conversations/repositories'
import type { Screen as ScreenName } from '@/api/sandboxes/runtime-plugins'
import type { AppConversation } from '@/api/types'
import type { ConversationView } from '@/events/fold/reduce'
import { useConversation } from '@/events/use-conversation'
import { useScreens } from '@/features/screens/use-screens'
import { useMediaQuery } from '@/lib/hooks/use-media-query'
import { ErrorBoundary } from '@/ui/feedback/error-boundary'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { SplitPanels } from '@/ui/layout/split-panels'

const Changes = lazy(() =>
  import('@/features/changes/changes').then((module) => ({ default: module.Changes })),
)

const Files = lazy(() => import('@/features/files/files').then((module) => ({ default: module.Files })))

const PullRequests = lazy(() =>
  import('@/features/pull-requests/pull-requests').then((module) => ({ default: module.PullRequests })),
)

const Browser = lazy(() =>
  import('@/features/browser/browser').then((module) => ({ default: module.Browser })),
)

const Preview = lazy(() =>
  import('@/features/preview/preview').then((module) => ({ default: module.Preview })),
)

const Screen = lazy(() => import('@/features/screens/screen').then((module) => ({ default: module.Screen })))

interface ConversationPanelsProps {
  conversationId: string
  isOwn: boolean
  chat: ReactNode
}

/**
 * The chat beside the side panels of this conversation: changes, files, pull requests, preview, browser
 * and screens.
 */
export function ConversationPanels({ conversationId, isOwn, chat }: ConversationPanelsProps) {
  const { t } = useTranslation()
  const hasBrowser = useConversation((state) => isOwn && state.view.agentBrowser !== null)
  // Only the owner of the conversation may use ports and screens.
  const sandboxId = useConversation((state) => (isOwn ? (state.view.conversation?.sandbox_id ?? null) : null))
  const screens = useScreens(sandboxId)
  const conversation = useConversation(({ view }) => view.conversation)
  const hasHost = useConversation(({ view }) => isReady(view) && isHosted(view.conversation))
  const isWide = useMediaQuery('(min-width: 1100px)')
  const panel = (
    name: 'changes' | 'files' | 'pull_requests' | 'preview' | 'browser',
    rows: number,
    content: ReactNode,
  ) => ({
    value: name,
    label: t(`${name}.title`),
    content: (
      <ErrorBoundary title={t(`${name}.failed`)} resetKey={conversationId}>
        <Suspense fallback={<SkeletonList rows={rows} label={t(`${name}.loading`)} className="m-3" />}>
          {content}
        </Suspense>
      </ErrorBoundary>
    ),
  })
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
  const pullRequests = (
    <PullRequests conversationId={conversationId} conversation={conversation} isOwn={isOwn} />
  )
  return (
    <SplitPanels
      main={{ label: t('chat.chat'), content: chat }}
      sides={[
        panel('changes', 4, <RepositoryPanel conversationId={conversationId} show={Changes} />),
        panel('files', 6, <RepositoryPanel conversationId={conversationId} show={Files} />),
        ...(hasHost ? [panel('pull_requests', 2, pullRequests)] : []),
        ...(sandboxId === null
          ? []
          : [
              panel(
                'preview',
                3,
                <Preview key={sandboxId} sandboxId={sandboxId} conversationId={conversationId} />,
              ),
            ]),
        ...(hasBrowser ? [panel('browser', 4, <Browser conversationId={conversationId} />)] : []),
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

interface RepositoryPanelProps {
  conversationId: string
  show: typeof Changes | typeof Files
}

/** A panel that shows something of the conversation's repositories. */
function RepositoryPanel({ conversationId, show: Show }: RepositoryPanelProps) {
  const conversation = useConversation(({ view }) => view.conversation)
  const repositories = useMemo(() => repositoriesOf(conversation), [conversation])
  const isSandboxRunning = useConversation(({ view }) => isReady(view))
  return <Show conversationId={conversationId} repositories={repositories} isReady={isSandboxRunning} />
}

function isReady({ startTask, conversation }: ConversationView): boolean {
  return (startTask?.status ?? conversation?.start_status) === 'READY'
}

/** Returns whether the repository is at a git host. It may also be on the server, or missing. */
function isHosted(conversation: AppConversation | null): boolean {
  const repository = conversation?.selected_repository
  return Boolean(repository) && !/^(\/|~|\.|file:)/.test(repository ?? '')
}
