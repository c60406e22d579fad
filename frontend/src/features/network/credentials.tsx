import { useQuery } from '@tanstack/react-query'
import { KeyRound, Plus } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import {
  type NetworkCredential,
  networkCredentialsQuery,
  useDeleteNetworkCredential,
} from '@/api/sandboxes/network-credentials'
import { currentUserQuery, ownsInstallation } from '@/api/people/users'
import { Button } from '@/ui/form/button'
import { Card } from '@/ui/layout/card'
import { ConfirmDialog } from '@/ui/overlay/confirm-dialog'
import { EmptyState } from '@/ui/feedback/empty-state'
import { ErrorState } from '@/ui/feedback/error-state'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { CredentialForm } from './credential-form'
import { CredentialRow, placeOf } from './credential-row'

/**
 * The credentials that are added to calls of https hosts when the calls leave a sandbox. The list shows the
 * hosts, and never the values.
 */
export function Credentials() {
  const { t } = useTranslation()
  const query = useQuery(networkCredentialsQuery())
  const me = useQuery(currentUserQuery()).data
  const isOwner = me !== undefined && ownsInstallation(me)
  const [isAdding, setAdding] = useState(false)
  const [doomed, setDoomed] = useState<NetworkCredential | null>(null)
  return (
    <section aria-label={t('network.credentials.title')}>
      <h3 className="mb-1 font-medium">{t('network.credentials.title')}</h3>
      <p className="mb-3 text-sm text-muted">{t('network.credentials.lead')}</p>
      {query.isPending && <SkeletonList rows={2} label={t('network.loading')} className="h-14" />}
      {query.isError && !query.data && (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      )}
      {query.data && (
        <Card>
          {query.data.length === 0 && !isAdding && (
            <EmptyState icon={<KeyRound />} title={t('network.credentials.empty')}>
              {t('network.credentials.empty_hint')}
            </EmptyState>
          )}
          <ul className="divide-y divide-border">
            {query.data.map((credential) => (
              <CredentialRow
                key={credential.id}
                credential={credential}
                isOwner={isOwner}
                onDelete={() => setDoomed(credential)}
              />
            ))}
          </ul>
          <div className="border-t border-border px-4 py-3">
            {isAdding ? (
              <CredentialForm isOwner={isOwner} onDone={() => setAdding(false)} />
            ) : (
              <Button icon={<Plus aria-hidden className="size-4" />} onClick={() => setAdding(true)}>
                {t('network.credentials.add')}
              </Button>
            )}
          </div>
        </Card>
      )}
      {doomed && <DeleteCredential credential={doomed} onClose={() => setDoomed(null)} />}
    </section>
  )
}

interface DeleteCredentialProps {
  credential: NetworkCredential
  onClose: () => void
}

function DeleteCredential({ credential, onClose }: DeleteCredentialProps) {
  const { t } = useTranslation()
  const remove = useDeleteNetworkCredential()
  return (
    <ConfirmDialog
      isOpen
      onOpenChange={onClose}
      title={t('network.credentials.delete_title', { place: placeOf(credential) })}
      description={t('network.credentials.delete_text')}
      confirmLabel={t('network.credentials.delete_confirm')}
      isBusy={remove.isPending}
      onConfirm={() => remove.mutate(credential.id, { onSuccess: onClose })}
    />
  )
}
