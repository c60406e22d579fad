import { useQuery } from '@tanstack/react-query'
import { KeyRound } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { apiKeysQuery } from '@/api/people/api-keys'
import type { ApiKey, CreatedApiKey } from '@/api/types'
import { formatAge, formatDateTime } from '@/lib/text/time'
import { Button } from '@/ui/form/button'
import { Card } from '@/ui/layout/card'
import { EmptyState } from '@/ui/feedback/empty-state'
import { ErrorState } from '@/ui/feedback/error-state'
import { SectionHeader } from '@/ui/layout/section-header'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { CreateKeyForm } from './create-key-form'
import { nameOfScopes } from './key-scopes'
import { McpConnection } from './mcp-connection'
import { NewKeyDialog } from './new-key-dialog'
import { RevokeKeyDialog } from './revoke-key-dialog'

export function ApiKeysSection() {
  const { t } = useTranslation()
  const query = useQuery(apiKeysQuery())
  const [created, setCreated] = useState<CreatedApiKey | null>(null)
  const [doomed, setDoomed] = useState<ApiKey | null>(null)
  return (
    <section aria-label={t('api_keys.title')}>
      <SectionHeader title={t('api_keys.title')} lead={t('api_keys.lead')} />
      <CreateKeyForm onCreated={setCreated} />
      {query.isPending && <SkeletonList rows={2} label={t('api_keys.loading')} className="h-16" />}
      {query.isError && !query.data && (
        <ErrorState error={query.error} title={t('error.load_keys')} onRetry={() => void query.refetch()} />
      )}
      {query.data && (
        <Card>
          {query.data.length === 0 ? (
            <EmptyState icon={<KeyRound />} title={t('api_keys.empty')}>
              {t('api_keys.empty_hint')}
            </EmptyState>
          ) : (
            <ul className="divide-y divide-border">
              {query.data.map((apiKey) => (
                <KeyRow key={apiKey.id} apiKey={apiKey} onRevoke={() => setDoomed(apiKey)} />
              ))}
            </ul>
          )}
        </Card>
      )}
      <McpConnection />
      {created && <NewKeyDialog created={created} onClose={() => setCreated(null)} />}
      {doomed && <RevokeKeyDialog apiKey={doomed} onClose={() => setDoomed(null)} />}
    </section>
  )
}

function KeyRow({ apiKey, onRevoke }: { apiKey: ApiKey; onRevoke: () => void }) {
  const { t } = useTranslation()
  const usage = apiKey.last_used_at
    ? t('api_keys.last_used', { age: formatAge(apiKey.last_used_at) })
    : t('api_keys.never_used')
  const scopesName = nameOfScopes(apiKey.scopes)
  const end = apiKey.expires_at
    ? t(isExpired(apiKey.expires_at) ? 'api_keys.expired' : 'api_keys.expires', {
        date: formatDateTime(apiKey.expires_at),
      })
    : t('api_keys.never_expires')
  return (
    <li className="flex items-center gap-4 px-4 py-3">
      <div className="min-w-0 flex-1">
        <p className="flex items-baseline gap-2 font-medium">
          <span className="truncate">{apiKey.name}</span>
          <code className="shrink-0 text-xs font-normal text-muted">{apiKey.prefix}…</code>
        </p>
        <p className="text-xs text-muted">
          {t('api_keys.created', { date: formatDateTime(apiKey.created_at) })} · {usage}
        </p>
        <p className="text-xs text-muted">
          {scopesName ? t(`api_keys.scopes_${scopesName}`) : apiKey.scopes?.join(', ')} · {end}
          {apiKey.addresses && ` · ${t('api_keys.only_from', { addresses: apiKey.addresses.join(', ') })}`}
        </p>
      </div>
      <Button size="sm" aria-label={t('api_keys.revoke_named', { name: apiKey.name })} onClick={onRevoke}>
        {t('api_keys.revoke')}
      </Button>
    </li>
  )
}

function isExpired(iso: string): boolean {
  return Date.parse(iso) <= Date.now()
}
