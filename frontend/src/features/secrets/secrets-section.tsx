import { useQuery } from '@tanstack/react-query'
import { LockKeyhole } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { secretsQuery, useDeleteSecret } from '@/api/agents/secrets'
import type { Secret } from '@/api/types'
import { Button } from '@/ui/form/button'
import { Card } from '@/ui/layout/card'
import { ConfirmDialog } from '@/ui/overlay/confirm-dialog'
import { EmptyState } from '@/ui/feedback/empty-state'
import { ErrorState } from '@/ui/feedback/error-state'
import { SectionHeader } from '@/ui/layout/section-header'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { SecretForm } from './secret-form'

/** The values that agents may use. The list shows names and descriptions, and never the values. */
export function SecretsSection() {
  const { t } = useTranslation()
  const query = useQuery(secretsQuery())
  const [doomed, setDoomed] = useState<Secret | null>(null)
  return (
    <section aria-label={t('secrets.title')}>
      <SectionHeader title={t('secrets.title')} lead={t('secrets.lead')} />
      <SecretForm />
      {query.isPending && <SkeletonList rows={2} label={t('secrets.loading')} className="h-16" />}
      {query.isError && !query.data && (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      )}
      {query.data && (
        <Card>
          {query.data.length === 0 ? (
            <EmptyState icon={<LockKeyhole />} title={t('secrets.empty')}>
              {t('secrets.empty_hint')}
            </EmptyState>
          ) : (
            <ul className="divide-y divide-border">
              {query.data.map((secret) => (
                <SecretRow key={secret.name} secret={secret} onDelete={() => setDoomed(secret)} />
              ))}
            </ul>
          )}
        </Card>
      )}
      {doomed && <DeleteSecret secret={doomed} onClose={() => setDoomed(null)} />}
    </section>
  )
}

function SecretRow({ secret, onDelete }: { secret: Secret; onDelete: () => void }) {
  const { t } = useTranslation()
  return (
    <li className="flex items-center gap-4 px-4 py-3">
      <div className="min-w-0 flex-1">
        <p className="truncate font-mono text-sm font-medium">{secret.name}</p>
        {secret.description && <p className="text-sm text-muted wrap-anywhere">{secret.description}</p>}
      </div>
      <Button size="sm" aria-label={t('secrets.delete_named', { name: secret.name })} onClick={onDelete}>
        {t('secrets.delete')}
      </Button>
    </li>
  )
}

function DeleteSecret({ secret, onClose }: { secret: Secret; onClose: () => void }) {
  const { t } = useTranslation()
  const remove = useDeleteSecret()
  return (
    <ConfirmDialog
      isOpen
      onOpenChange={onClose}
      title={t('secrets.delete_title', { name: secret.name })}
      description={t('secrets.delete_text')}
      confirmLabel={t('secrets.delete_confirm')}
      isBusy={remove.isPending}
      onConfirm={() => remove.mutate(secret.name, { onSuccess: onClose })}
    />
  )
}
