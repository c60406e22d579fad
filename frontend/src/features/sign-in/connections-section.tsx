import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { toast } from 'sonner'
import {
  connectionsQuery,
  useBeginConnection,
  useEndConnection,
  type IdentityConnection,
} from '@/api/people/identities'
import { formatDateTime } from '@/lib/text/time'
import { Button } from '@/ui/form/button'
import { Card } from '@/ui/layout/card'
import { ConfirmDialog } from '@/ui/overlay/confirm-dialog'
import { ErrorState } from '@/ui/feedback/error-state'
import { Notice } from '@/ui/feedback/notice'
import { SectionHeader } from '@/ui/layout/section-header'
import { refusalTextKey } from './refusal-texts'
import { clearFragment, addressMessage } from './address-messages'

/**
 * The identity providers with which the user can sign in to this account. Shows nothing if the installation
 * has no provider.
 */
export function ConnectionsSection() {
  const { t } = useTranslation()
  const query = useQuery(connectionsQuery())
  const [refusal] = useState(() => addressMessage('refused'))
  const [isNew] = useState(() => addressMessage('connected') !== null)
  useEffect(() => {
    if (isNew) toast.success(t('connections.connected'), { id: 'connected' })
    if (isNew || refusal !== null) clearFragment()
  }, [isNew, refusal, t])
  const explained = refusal !== null && refusalTextKey(refusal)

  if (query.isPending || query.data?.length === 0) return null
  return (
    <section aria-label={t('connections.title')} className="mt-10">
      <SectionHeader title={t('connections.title')} lead={t('connections.lead')} />
      {refusal !== null && (
        <Notice tone="warning" title={t('connections.failed')} className="mb-4">
          {explained && t(explained)}
        </Notice>
      )}
      {query.isError && !query.data && (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      )}
      {query.data && (
        <Card>
          <ul className="divide-y divide-border">
            {query.data.map((connection) => (
              <ConnectionRow key={connection.provider} connection={connection} />
            ))}
          </ul>
        </Card>
      )}
    </section>
  )
}

function ConnectionRow({ connection }: { connection: IdentityConnection }) {
  const { t } = useTranslation()
  const begin = useBeginConnection()
  const end = useEndConnection()
  const [isAsking, setIsAsking] = useState(false)
  const { provider, title, connected_at: since, email } = connection

  function handleConnect() {
    begin.mutate(provider, { onSuccess: ({ url }) => window.location.assign(url) })
  }

  function handleDisconnect() {
    end.mutate(provider, {
      onSuccess: () => {
        toast.success(t('connections.disconnected', { title }))
        setIsAsking(false)
      },
    })
  }

  return (
    <li className="flex items-center gap-4 px-4 py-3">
      <div className="min-w-0 flex-1">
        <p className="font-medium">{title}</p>
        <p className="text-xs text-muted">
          {since === null
            ? t('connections.not_connected')
            : [email, t('connections.connected_since', { date: formatDateTime(since) })]
                .filter(Boolean)
                .join(' · ')}
        </p>
      </div>
      {since === null ? (
        <Button
          size="sm"
          aria-label={t('connections.connect_named', { title })}
          isBusy={begin.isPending || begin.isSuccess}
          onClick={handleConnect}
        >
          {t('connections.connect')}
        </Button>
      ) : (
        <Button
          size="sm"
          aria-label={t('connections.disconnect_named', { title })}
          onClick={() => setIsAsking(true)}
        >
          {t('connections.disconnect')}
        </Button>
      )}
      {isAsking && (
        <ConfirmDialog
          isOpen
          onOpenChange={setIsAsking}
          title={t('connections.disconnect_title', { title })}
          description={t('connections.disconnect_text', { title })}
          confirmLabel={t('connections.disconnect')}
          isBusy={end.isPending}
          onConfirm={handleDisconnect}
        />
      )}
    </li>
  )
}
