import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { type NetworkCredential, networkCredentialUsesQuery } from '@/api/sandboxes/network-credentials'
import { formatAge, formatDateTime } from '@/lib/text/time'
import { Badge } from '@/ui/feedback/badge'
import { Button } from '@/ui/form/button'
import { ErrorState } from '@/ui/feedback/error-state'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { CredentialForm } from './credential-form'
import { TimeAndConversations } from './time-and-conversations'

export interface CredentialRowProps {
  credential: NetworkCredential
  isOwner: boolean
  onDelete: () => void
}

/** A credential: its host, the way it is sent, and its uses. */
export function CredentialRow({ credential, isOwner, onDelete }: CredentialRowProps) {
  const { t } = useTranslation()
  const [isReplacing, setReplacing] = useState(false)
  const [isOpen, setOpen] = useState(false)
  const place = placeOf(credential)
  const { scope, repository, kind, username, header, last_used_at } = credential
  return (
    <li className="px-4 py-3">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <div className="min-w-0 flex-1 basis-52">
          <p className="font-mono text-sm font-medium wrap-anywhere">{place}</p>
          <p className="text-sm text-muted wrap-anywhere">
            {[
              t(`network.credentials.kinds.${kind}`),
              username || header,
              scope === 'repository' ? repository : t(`network.credentials.scopes.${scope}`),
            ]
              .filter(Boolean)
              .join(' · ')}
          </p>
          <p className="text-xs text-muted" title={last_used_at ? formatDateTime(last_used_at) : undefined}>
            {last_used_at
              ? t('network.credentials.last_used', { age: formatAge(last_used_at) })
              : t('network.credentials.never_used')}
          </p>
        </div>
        {!credential.is_allowed && <Badge tone="warning">{t('network.credentials.not_allowed')}</Badge>}
        {credential.is_own && (
          <div className="flex gap-2">
            <Button
              size="sm"
              aria-label={t('network.credentials.replace_named', { place })}
              onClick={() => setReplacing(!isReplacing)}
            >
              {t('network.credentials.replace')}
            </Button>
            <Button
              size="sm"
              aria-label={t('network.credentials.delete_named', { place })}
              onClick={onDelete}
            >
              {t('network.credentials.delete')}
            </Button>
          </div>
        )}
      </div>
      {isReplacing && (
        <div className="mt-4">
          <CredentialForm replaced={credential} isOwner={isOwner} onDone={() => setReplacing(false)} />
        </div>
      )}
      {last_used_at && (
        <details className="mt-2 text-sm" onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary className="cursor-pointer text-muted hover:text-text">
            {t('network.credentials.uses')}
          </summary>
          {isOpen && <Uses id={credential.id} />}
        </details>
      )}
    </li>
  )
}

function Uses({ id }: { id: string }) {
  const { t } = useTranslation()
  const query = useInfiniteQuery(networkCredentialUsesQuery(id))
  if (query.isError) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  if (query.isPending) return <SkeletonList rows={2} label={t('network.loading')} className="h-5" />
  const uses = query.data.pages.flatMap((page) => page.items)
  return (
    <>
      <ul className="mt-2 flex flex-col gap-1">
        {uses.map((use) => (
          <li key={use.id} className="flex flex-wrap gap-x-3 text-xs">
            <span className="min-w-0 flex-1 font-mono wrap-anywhere">
              {use.method} {use.path}
            </span>
            <TimeAndConversations at={use.at} conversations={use.conversations} />
          </li>
        ))}
      </ul>
      {query.hasNextPage && (
        <Button
          size="sm"
          className="mt-2"
          isBusy={query.isFetchingNextPage}
          onClick={() => void query.fetchNextPage()}
        >
          {t('network.more')}
        </Button>
      )}
    </>
  )
}

/** Returns the host, the port and the path of a credential as one text. */
export function placeOf({ host, port, path_prefix }: NetworkCredential): string {
  return `${host}${port === 443 ? '' : `:${port}`}${path_prefix}`
}
