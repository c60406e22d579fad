import { useQuery } from '@tanstack/react-query'
import { AppWindow, Globe, RefreshCw } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { browserQuery, type BrowserTab } from '@/api/sandboxes/browser'
import { isApiError } from '@/api/errors'
import { isEventImage, useEventImage } from '@/events/event-image'
import type { AgentBrowser } from '@/events/fold/agent-browser'
import { isAwake } from '@/events/status'
import { useConversation } from '@/events/use-conversation'
import { EmptyState } from '@/ui/feedback/empty-state'
import { ErrorState } from '@/ui/feedback/error-state'
import { IconButton } from '@/ui/form/icon-button'
import { LoadingImage } from '@/ui/overlay/loading-image'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { Tabs } from './tabs'
import { useRefreshWithSteps } from './use-refresh'

/** The agent's browser: its present page, or the last page that it showed. */
export function Browser({ conversationId }: { conversationId: string }) {
  const { t } = useTranslation()
  const agentBrowser = useConversation((state) => state.view.agentBrowser)
  const canTell = useConversation(isAwake)
  const query = useQuery({ ...browserQuery(conversationId), enabled: canTell })
  useRefreshWithSteps(conversationId)

  if (query.isPending && canTell)
    return <SkeletonList rows={4} label={t('browser.loading')} className="m-3" />
  // A sleeping sandbox has no browser. This is normal and not an error.
  const isAsleep = !canTell || (isApiError(query.error) && query.error.status === 409)
  const hasFailed = query.isError && !isAsleep
  const live = query.data?.is_open && !isAsleep ? query.data : null
  const current = live?.pages.find((page) => page.is_current) ?? lastPage(agentBrowser)
  if (current === null) return <EmptyState icon={<Globe />} title={t('browser.none')} />
  return (
    <div className="flex min-h-full flex-col">
      <div className="sticky top-0 z-10 flex min-h-11 items-center gap-2 border-b border-border bg-surface px-3">
        <Globe aria-hidden className="size-4 shrink-0 text-muted" />
        <p className="min-w-0 flex-1 truncate font-mono text-xs" title={current.url}>
          <span className="sr-only">{t('browser.address')} </span>
          {current.url}
        </p>
        <IconButton
          size="sm"
          label={t('browser.refresh')}
          icon={<RefreshCw aria-hidden className={query.isFetching ? 'size-4 animate-spin' : 'size-4'} />}
          onClick={() => void query.refetch()}
        />
      </div>
      {live !== null && live.pages.length > 1 && <Tabs pages={live.pages} />}
      {hasFailed && <ErrorState className="m-3" title={t('browser.failed')} error={query.error} />}
      <div className="flex flex-col gap-2 p-3">
        {live === null && !hasFailed && <p className="text-sm text-muted">{t('browser.closed')}</p>}
        <p className="text-sm font-medium wrap-anywhere">{current.title || current.url}</p>
        <Picture url={live === null ? agentBrowser?.image?.url : live.image_url} />
      </div>
    </div>
  )
}

function Picture({ url }: { url: string | null | undefined }) {
  const { t } = useTranslation()
  if (!isEventImage(url)) return <EmptyState icon={<AppWindow />} title={t('browser.no_picture')} />
  return (
    <div className="overflow-hidden rounded-md border border-border">
      <Shown url={url} />
    </div>
  )
}

function Shown({ url }: { url: string }) {
  const { t } = useTranslation()
  return <LoadingImage picture={useEventImage(url)} alt={t('browser.picture')} className="w-full" />
}

function lastPage(agentBrowser: AgentBrowser | null): BrowserTab | null {
  return agentBrowser === null ? null : { url: agentBrowser.url, title: agentBrowser.title, is_current: true }
}
