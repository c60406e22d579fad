import { useQuery } from '@tanstack/react-query'
import { MonitorPlay } from 'lucide-react'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { conversationTitle } from '@/api/conversations/conversation-title'
import { neighboursQuery } from '@/api/conversations/conversations'
import { isApiError } from '@/api/errors'
import { portsQuery, useCreatePortLink } from '@/api/sandboxes/ports'
import { isAwake } from '@/events/status'
import { useConversation } from '@/events/use-conversation'
import { EmptyState } from '@/ui/feedback/empty-state'
import { ErrorState } from '@/ui/feedback/error-state'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { PageFrame } from './page-frame'
import { PortList } from './port-list'

export interface PreviewProps {
  sandboxId: string
  conversationId: string
}

/** The preview of programs in the sandbox: the ports on which they listen, and the page of one port. */
export function Preview({ sandboxId, conversationId }: PreviewProps) {
  const { t } = useTranslation()
  const canTell = useConversation(isAwake)
  const titles = useTitles({ sandboxId, conversationId })
  const query = useQuery({ ...portsQuery(sandboxId), enabled: canTell })
  const link = useCreatePortLink(sandboxId)
  const [chosen, setChosen] = useState<number | null>(null)

  const only = query.data?.ports.length === 1 ? query.data.ports[0]?.port : undefined
  const shown = chosen ?? (link.isIdle ? null : (link.variables ?? null))

  function handleOpen(port: number) {
    setChosen(port)
    link.mutate(port)
  }

  // If there is only one port, it is opened without asking the user.
  const { isIdle, mutate } = link
  useEffect(() => {
    if (only !== undefined && chosen === null && isIdle) mutate(only)
  }, [only, chosen, isIdle, mutate])

  if (!canTell)
    return (
      <EmptyState icon={<MonitorPlay />} title={t('preview.asleep')}>
        {t('preview.asleep_hint')}
      </EmptyState>
    )
  if (query.isPending) return <SkeletonList rows={3} label={t('preview.loading')} className="m-3" />
  if (isApiError(query.error) && query.error.code === 'sandbox_not_running')
    return (
      <EmptyState icon={<MonitorPlay />} title={t('preview.asleep')}>
        {query.error.fix}
      </EmptyState>
    )
  if (query.isError)
    return (
      <ErrorState
        className="m-3"
        title={t('preview.failed')}
        error={query.error}
        onRetry={() => void query.refetch()}
      />
    )
  const { ports } = query.data
  if (ports.length === 0 && shown === null)
    return (
      <EmptyState icon={<MonitorPlay />} title={t('preview.none')}>
        {t('preview.none_hint')}
      </EmptyState>
    )
  return (
    <div className="flex h-full min-h-0 flex-col">
      <PortList ports={ports} chosen={shown} foreignTitles={titles} onOpen={handleOpen} />
      {link.isError && shown !== null && (
        <ErrorState
          className="m-3"
          title={t('preview.link_failed')}
          error={link.error}
          onRetry={() => handleOpen(shown)}
        />
      )}
      {link.data && shown !== null && !link.isError && (
        <PageFrame
          key={link.submittedAt}
          sandboxId={sandboxId}
          port={shown}
          link={link.data}
          isListening={ports.some(({ port }) => port === shown)}
          onReload={() => handleOpen(shown)}
        />
      )}
      {shown === null && <p className="p-4 text-sm text-muted">{t('preview.choose')}</p>}
    </div>
  )
}

/** Returns the titles of the other conversations in the sandbox, by their id. */
function useTitles({ sandboxId, conversationId }: PreviewProps): ReadonlyMap<string, string> {
  const { t } = useTranslation()
  const { data = [] } = useQuery(neighboursQuery({ id: conversationId, sandbox_id: sandboxId }))
  return new Map(data.map((each) => [each.id, conversationTitle(t, each)]))
}
