import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { toast } from 'sonner'
import {
  auditStreamQuery,
  useDeleteAuditStream,
  useTestAuditStream,
  type AuditStream,
} from '@/api/people/audit-stream'
import { formatAge, formatDateTime } from '@/lib/text/time'
import { ErrorState } from '@/ui/feedback/error-state'
import { Notice } from '@/ui/feedback/notice'
import { Button } from '@/ui/form/button'
import { Card } from '@/ui/layout/card'
import { SectionHeader } from '@/ui/layout/section-header'
import { ConfirmDialog } from '@/ui/overlay/confirm-dialog'
import { CopyDialog } from '@/ui/overlay/copy-dialog'
import { AuditStreamForm } from './audit-stream-form'

/** The receiver of the audit log: a syslog server or a webhook. */
export function AuditStreamCard() {
  const { t } = useTranslation()
  const query = useQuery(auditStreamQuery())
  const [secret, setSecret] = useState<string | null>(null)
  if (query.isPending) return null
  return (
    <section aria-label={t('audit_stream.title')} className="mt-10">
      <SectionHeader title={t('audit_stream.title')} lead={t('audit_stream.lead')} />
      {query.isError && query.data === undefined && (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      )}
      {query.data !== undefined && (
        <Card className="p-5">
          {query.data === null ? (
            <AuditStreamForm onSaved={(saved) => setSecret(saved.secret)} />
          ) : (
            <CurrentStream stream={query.data} />
          )}
        </Card>
      )}
      {secret !== null && (
        <CopyDialog
          title={t('audit_stream.secret_title')}
          description={t('audit_stream.secret_text')}
          value={secret}
          label={t('audit_stream.secret')}
          copyLabel={t('audit_stream.copy_secret')}
          onClose={() => setSecret(null)}
        />
      )}
    </section>
  )
}

function CurrentStream({ stream }: { stream: AuditStream }) {
  const { t } = useTranslation()
  const test = useTestAuditStream()
  const remove = useDeleteAuditStream()
  const [isAsking, setAsking] = useState(false)
  return (
    <div className="flex flex-col gap-4">
      <div>
        <p className="font-medium break-all">{stream.address}</p>
        <p className="text-xs text-muted">
          {[
            t(`audit_stream.kind_${stream.kind}`),
            stream.sent_at
              ? t('audit_stream.sent', { age: formatAge(stream.sent_at) })
              : t('audit_stream.nothing_sent'),
            t('audit_stream.waiting', { count: stream.waiting }),
          ].join(' · ')}
        </p>
      </div>
      {stream.failing_since !== null && (
        <Notice
          tone="danger"
          title={t('audit_stream.failing', { date: formatDateTime(stream.failing_since) })}
        >
          {stream.error}
        </Notice>
      )}
      {test.isError && <ErrorState error={test.error} title={t('audit_stream.test_failed')} />}
      <div className="flex flex-wrap gap-2">
        <Button
          isBusy={test.isPending}
          onClick={() =>
            test.mutate(undefined, { onSuccess: () => toast.success(t('audit_stream.test_sent')) })
          }
        >
          {t('audit_stream.test')}
        </Button>
        <Button onClick={() => setAsking(true)}>{t('audit_stream.stop')}</Button>
      </div>
      {isAsking && (
        <ConfirmDialog
          isOpen
          onOpenChange={setAsking}
          title={t('audit_stream.stop_title')}
          description={t('audit_stream.stop_text')}
          confirmLabel={t('audit_stream.stop')}
          isBusy={remove.isPending}
          onConfirm={() => remove.mutate(undefined, { onSuccess: () => setAsking(false) })}
        />
      )}
    </div>
  )
}
