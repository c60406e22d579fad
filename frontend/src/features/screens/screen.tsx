import { useQuery } from '@tanstack/react-query'
import { CodeXml, ExternalLink, Monitor, RotateCw } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { neighboursQuery } from '@/api/conversations/conversations'
import { isApiError } from '@/api/errors'
import { screenQuery, type Screen as ScreenName } from '@/api/sandboxes/runtime-plugins'
import { webClientConfigQuery } from '@/api/web-client-config'
import { agentStatus } from '@/events/status'
import { useConversation } from '@/events/use-conversation'
import { useMediaQuery } from '@/lib/hooks/use-media-query'
import { Button, buttonClass } from '@/ui/form/button'
import { EmptyState } from '@/ui/feedback/empty-state'
import { ErrorState } from '@/ui/feedback/error-state'
import { IconButton } from '@/ui/form/icon-button'
import { ScrollPre } from '@/ui/text/scroll-pre'
import { Spinner } from '@/ui/feedback/spinner'
import { isSandboxRunning } from './use-screens'

const ICONS = { vscode: CodeXml, desktop: Monitor }
// An agent made the content of the frame, so the content must not be able to navigate this page.
const FRAME_PERMISSIONS =
  'allow-scripts allow-same-origin allow-forms allow-modals allow-popups allow-popups-to-escape-sandbox allow-downloads'

export interface ScreenProps {
  sandboxId: string
  conversationId: string
  screen: ScreenName
}

/**
 * VS Code or the desktop of a sandbox. It is started when the user opens it. If it cannot work now, the
 * reason is shown.
 */
export function Screen(props: ScreenProps) {
  const { t } = useTranslation()
  const config = useQuery(webClientConfigQuery())
  const status = useConversation(agentStatus)
  const isRunning = useConversation(isSandboxRunning)
  const [isOpen, setOpen] = useState(isRunning)
  // An open screen stays open. When it has ended, the screen says so itself.
  if (isRunning && !isOpen) setOpen(true)
  if (config.isPending)
    return <EmptyState icon={<Spinner />} title={<p role="status">{t('screens.loading')}</p>} />
  if (config.isError) return <Failure error={config.error} onRetry={() => void config.refetch()} />
  // Below a path, pages have an opaque origin. VS Code does not start with an opaque origin.
  if (props.screen === 'vscode' && !config.data.ports_have_names)
    return (
      <EmptyState icon={<CodeXml />} title={t('screens.needs_name')}>
        {t('screens.needs_name_hint')}
      </EmptyState>
    )
  const Icon = ICONS[props.screen]
  const name = t(`screens.${props.screen}`)
  if (isOpen) return <StartedScreen {...props} />
  if (status === 'starting' || status === 'sandbox_starting')
    return (
      <EmptyState icon={<Spinner />} title={<p role="status">{t('screens.sandbox_starting')}</p>}>
        {t('screens.sandbox_starting_hint', { name })}
      </EmptyState>
    )
  if (status === 'sandbox_asleep')
    return (
      <EmptyState
        icon={<Icon />}
        title={t('screens.asleep')}
        action={
          <Button variant="primary" onClick={() => setOpen(true)}>
            {t('screens.wake', { name })}
          </Button>
        }
      >
        {t('screens.asleep_hint', { name })}
      </EmptyState>
    )
  const isArchived = status === 'sandbox_archived'
  return (
    <EmptyState icon={<Icon />} title={t(isArchived ? 'screens.archived' : 'screens.asleep')}>
      {t(isArchived ? 'screens.archived_hint' : 'screens.down_hint', { name })}
    </EmptyState>
  )
}

function StartedScreen({ sandboxId, conversationId, screen }: ScreenProps) {
  const { t } = useTranslation()
  const query = useQuery(screenQuery(sandboxId, conversationId, screen))
  const hasRoom = useMediaQuery('(min-width: 640px)')
  const { data: others = [] } = useQuery(neighboursQuery({ id: conversationId, sandbox_id: sandboxId }))
  const name = t(`screens.${screen}`)
  const hint = screen === 'desktop' && others.length > 0 ? t('screens.shared_desktop') : t('screens.hint')
  const Icon = ICONS[screen]

  if (query.isFetching)
    return <EmptyState icon={<Spinner />} title={<p role="status">{t('screens.starting', { name })}</p>} />
  if (query.isError) return <Failure error={query.error} onRetry={() => void query.refetch()} />
  if (query.data === undefined) return null
  const { url } = query.data
  if (!hasRoom)
    return (
      <EmptyState
        icon={<Icon />}
        title={t('screens.runs', { name })}
        action={
          <a href={url} target="_blank" rel="noreferrer" className={buttonClass('primary')}>
            <ExternalLink aria-hidden className="size-4" />
            {t('screens.open')}
          </a>
        }
      >
        {t('screens.narrow')}
      </EmptyState>
    )
  return (
    <div className="flex h-full flex-col">
      <div className="flex min-h-11 shrink-0 items-center gap-1 border-b border-border bg-surface px-3">
        <Icon aria-hidden className="size-4 shrink-0 text-muted" />
        <p className="ml-1 shrink-0 text-sm">{name}</p>
        <p className="ml-2 line-clamp-2 min-w-0 flex-1 text-xs text-muted" title={hint}>
          {hint}
        </p>
        <IconButton
          size="sm"
          label={t('screens.reload')}
          icon={<RotateCw aria-hidden className="size-4" />}
          onClick={() => void query.refetch()}
        />
        <a href={url} target="_blank" rel="noreferrer" className={buttonClass('ghost', 'sm')}>
          <ExternalLink aria-hidden className="size-4" />
          {t('screens.open')}
        </a>
      </div>
      <iframe
        key={query.dataUpdatedAt}
        src={url}
        title={name}
        sandbox={FRAME_PERMISSIONS}
        allow="clipboard-read; clipboard-write; fullscreen"
        className="min-h-0 w-full flex-1 border-0"
      />
    </div>
  )
}

function Failure({ error, onRetry }: { error: Error; onRetry: () => void }) {
  const { t } = useTranslation()
  const output = isApiError(error) ? error.output : null
  return (
    <div className="flex flex-col gap-2 p-3">
      <ErrorState error={error} onRetry={onRetry} />
      {output !== null && (
        <>
          <p className="text-sm text-muted">{t('screens.output')}</p>
          <ScrollPre className="max-h-80 rounded-md bg-sunken p-3 text-xs">{output}</ScrollPre>
        </>
      )}
    </div>
  )
}
