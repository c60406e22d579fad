import { useInfiniteQuery } from '@tanstack/react-query'
import clsx from 'clsx'
import { ScrollText } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { type AuditEntry, type AuditFilter, auditLogQuery } from '@/api/people/audit'
import { formatAge, formatDateTime } from '@/lib/text/time'
import { Badge } from '@/ui/feedback/badge'
import { Button } from '@/ui/form/button'
import { Card } from '@/ui/layout/card'
import { EmptyState } from '@/ui/feedback/empty-state'
import { ErrorState } from '@/ui/feedback/error-state'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { labelOfAction } from './audit-actions'

/** The entries of the audit log that match the filter, the newest first. */
export function AuditTable({ filter }: { filter: AuditFilter }) {
  const { t } = useTranslation()
  const query = useInfiniteQuery(auditLogQuery(filter))
  const entries = query.data?.pages.flatMap((page) => page.items) ?? []
  return (
    <>
      {query.isPending && <SkeletonList rows={5} label={t('audit.loading')} className="h-12" />}
      {query.isError && <ErrorState error={query.error} onRetry={() => void query.refetch()} />}
      {query.data && (
        <Card>
          {entries.length === 0 ? (
            <EmptyState icon={<ScrollText />} title={t('audit.nothing')}>
              {t('audit.nothing_hint')}
            </EmptyState>
          ) : (
            <Entries entries={entries} />
          )}
        </Card>
      )}
      {query.hasNextPage && (
        <Button
          size="sm"
          className="mt-3"
          isBusy={query.isFetchingNextPage}
          onClick={() => void query.fetchNextPage()}
        >
          {t('audit.more')}
        </Button>
      )}
    </>
  )
}

function Entries({ entries }: { entries: AuditEntry[] }) {
  const { t } = useTranslation()
  const head = 'px-4 py-2 text-left text-xs font-medium text-muted'
  return (
    <table className="w-full text-sm">
      <thead className="border-b border-border">
        <tr>
          <th className={head}>{t('audit.what')}</th>
          <th className={head}>{t('audit.who')}</th>
          <th className={clsx(head, 'hidden sm:table-cell')}>{t('audit.when')}</th>
        </tr>
      </thead>
      <tbody className="divide-y divide-border">
        {entries.map((entry) => (
          <EntryRow key={entry.id} entry={entry} />
        ))}
      </tbody>
    </table>
  )
}

function EntryRow({ entry }: { entry: AuditEntry }) {
  const { t } = useTranslation()
  const { target_kind: kind, happened_at: at } = entry
  const named = nameOfTarget(entry)
  return (
    <tr className="align-top">
      <td className="px-4 py-2.5">
        <p className="flex flex-wrap items-center gap-x-2 gap-y-1 font-medium">
          {labelOfAction(t, entry.action)}
          {entry.outcome === 'refused' && <Badge tone="warning">{t('audit.outcome_refused')}</Badge>}
        </p>
        {kind && (
          <p className="text-xs wrap-anywhere text-muted">
            {t(`audit.target_${kind}`)}
            {named && `: ${named}`}
          </p>
        )}
        <EntryTime at={at} className="text-xs text-muted sm:hidden" />
        <Details entry={entry} />
      </td>
      <td className="w-28 px-4 py-2.5 wrap-break-word sm:w-40">
        <p>{entry.actor_name ?? t(entry.means === 'server' ? 'audit.server' : 'audit.unknown')}</p>
        <p className="text-xs text-muted">
          {[t(`audit.means_${entry.means}`), entry.address].filter(Boolean).join(' · ')}
        </p>
      </td>
      <td className="hidden px-4 py-2.5 text-xs whitespace-nowrap text-muted sm:table-cell">
        <EntryTime at={at} />
      </td>
    </tr>
  )
}

function EntryTime({ at, className }: { at: string; className?: string }) {
  return (
    <time dateTime={at} title={formatAge(at)} className={className}>
      {formatDateTime(at)}
    </time>
  )
}

/**
 * Returns the name of the target of an entry. Returns null if there is only an id. The details show the id.
 */
function nameOfTarget({ details, target_id: target }: AuditEntry): string | null {
  if (typeof details.name === 'string') return details.name
  return target && !/^[0-9a-f]{32}$/.test(target) ? target : null
}

function Details({ entry }: { entry: AuditEntry }) {
  const { t } = useTranslation()
  const facts = Object.entries({
    ...entry.details,
    target: entry.target_id,
    entry: entry.id,
    hash: entry.hash,
  }).filter(([, value]) => value !== null)
  return (
    <details className="mt-1 text-xs text-muted">
      <summary className="cursor-pointer select-none hover:text-text">{t('audit.details')}</summary>
      <dl className="mt-1 grid grid-cols-[auto_1fr] gap-x-3 gap-y-0.5">
        {facts.map(([name, value]) => (
          <div key={name} className="contents">
            <dt>{name}</dt>
            <dd className="font-mono wrap-anywhere text-text">
              {typeof value === 'string' ? value : JSON.stringify(value)}
            </dd>
          </div>
        ))}
      </dl>
    </details>
  )
}
