import { useQuery } from '@tanstack/react-query'
import { Link2Off } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useLocation } from 'react-router'
import { isApiError } from '@/api/errors'
import { linkedConversationQuery } from '@/api/conversations/links'
import { linkEnvironment } from '@/events/stream/link-socket'
import { ConversationProvider, useConversation } from '@/events/use-conversation'
import { ReadOnlyChat } from '@/features/chat/read-only-chat'
import { formatDateTime } from '@/lib/text/time'
import { useDocumentTitle } from '@/lib/hooks/use-document-title'
import { EmptyState } from '@/ui/feedback/empty-state'
import { ErrorState } from '@/ui/feedback/error-state'
import { Logo } from '@/ui/drawings/logo'
import { SkeletonList } from '@/ui/feedback/skeleton'

const NAME = 'linked'

/**
 * The page of a conversation for people with a read-only link. The token stays in the address, so that the
 * page can be reloaded.
 */
export function LinkedRoute() {
  const token = new URLSearchParams(useLocation().hash.slice(1)).get('token') ?? ''
  if (token === '') return <Ended />
  return <Linked key={token} token={token} />
}

function Linked({ token }: { token: string }) {
  const { t } = useTranslation()
  const [environment] = useState(() => linkEnvironment(token))
  const query = useQuery(linkedConversationQuery(token))
  const title = query.data && (query.data.title ?? t('linked.untitled'))
  useDocumentTitle(title)
  if (isApiError(query.error) && query.error.status === 404) return <Ended />
  if (query.isError && !query.data)
    return <ErrorState className="m-6" error={query.error} onRetry={() => void query.refetch()} />
  if (!query.data) return <SkeletonList rows={5} label={t('linked.loading')} className="m-6" />
  return (
    <ConversationProvider conversationId={NAME} environment={environment}>
      <div className="flex h-full min-h-0 flex-col">
        <header className="flex shrink-0 flex-wrap items-center gap-x-3 gap-y-0.5 border-b border-border px-3 py-2 sm:px-6">
          <Logo className="size-6 shrink-0" />
          <h1 className="min-w-0 flex-1 truncate font-medium">{title}</h1>
          <p className="text-xs text-muted max-sm:w-full">
            {t('linked.read_only', { date: formatDateTime(query.data.expires_at) })}
          </p>
        </header>
        <Content />
      </div>
    </ConversationProvider>
  )
}

function Content() {
  const { t } = useTranslation()
  const hasEnded = useConversation(({ connection }) => connection.state === 'not_found')
  const isEmpty = useConversation(
    ({ view }) => view.throughSeq !== null && view.lastSeq >= view.throughSeq && view.items.length === 0,
  )
  if (hasEnded) return <Ended />
  if (isEmpty) return <p className="m-6 text-muted">{t('linked.nothing')}</p>
  return (
    <main className="min-h-0 flex-1">
      <ReadOnlyChat conversationId={NAME} />
    </main>
  )
}

function Ended() {
  const { t } = useTranslation()
  return (
    <main className="grid min-h-0 flex-1 place-items-center">
      <EmptyState icon={<Link2Off />} title={<h1>{t('linked.ended')}</h1>}>
        {t('linked.ended_hint')}
      </EmptyState>
    </main>
  )
}
