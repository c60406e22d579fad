import { useQuery } from '@tanstack/react-query'
import { Download } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { type AuditFilter, type AuditFormat, useExportAuditLog } from '@/api/people/audit'
import { administersInstallation, currentUserQuery, isAdministrator } from '@/api/people/users'
import { Button } from '@/ui/form/button'
import { ErrorState } from '@/ui/feedback/error-state'
import { Notice } from '@/ui/feedback/notice'
import { SectionHeader } from '@/ui/layout/section-header'
import { AuditFilters } from './audit-filters'
import { AuditStreamCard } from './audit-stream'
import { AuditTable } from './audit-table'

const FORMATS: AuditFormat[] = ['csv', 'jsonl']

/** The audit log: who did what, when, and from where. */
export function AuditSection() {
  const { t } = useTranslation()
  const me = useQuery(currentUserQuery()).data
  return (
    <section aria-label={t('audit.title')}>
      <SectionHeader title={t('audit.title')} lead={t('audit.lead')} />
      {me && !isAdministrator(me) && <Notice tone="neutral">{t('audit.administrators_only')}</Notice>}
      {me && isAdministrator(me) && <AuditLog />}
      {me && administersInstallation(me) && <AuditStreamCard />}
    </section>
  )
}

function AuditLog() {
  const { t } = useTranslation()
  const [filter, setFilter] = useState<AuditFilter>({})
  const download = useExportAuditLog()
  return (
    <>
      <AuditFilters filter={filter} onChange={setFilter} />
      <AuditTable filter={filter} />
      <div className="mt-5 flex flex-wrap items-center gap-2">
        {FORMATS.map((format) => (
          <Button
            key={format}
            size="sm"
            icon={<Download className="size-3.5" />}
            isBusy={download.isPending && download.variables.format === format}
            disabled={download.isPending}
            onClick={() => download.mutate({ format, filter })}
          >
            {t(`audit.export_${format}`)}
          </Button>
        ))}
        <p className="text-xs text-muted">{t('audit.export_hint')}</p>
      </div>
      {download.isError && (
        <ErrorState error={download.error} title={t('audit.export_failed')} className="mt-3" />
      )}
    </>
  )
}
