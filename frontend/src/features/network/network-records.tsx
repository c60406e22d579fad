import { useInfiniteQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { networkRecordsQuery, type NetworkRecord } from '@/api/sandboxes/network'
import { Badge } from '@/ui/feedback/badge'
import { Button } from '@/ui/form/button'
import { Card } from '@/ui/layout/card'
import { ErrorState } from '@/ui/feedback/error-state'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { TimeAndConversations } from './time-and-conversations'

/** The calls of the user's sandboxes, the latest first. */
export function NetworkRecords() {
  const { t } = useTranslation()
  const query = useInfiniteQuery(networkRecordsQuery())
  const records = query.data?.pages.flatMap((page) => page.items) ?? []
  return (
    <section aria-label={t('network.records')}>
      <h3 className="mb-1 font-medium">{t('network.records')}</h3>
      <p className="mb-3 text-sm text-muted">{t('network.records_hint')}</p>
      {query.isPending && <SkeletonList rows={3} label={t('network.loading')} className="h-12" />}
      {query.isError && <ErrorState error={query.error} onRetry={() => void query.refetch()} />}
      {query.data && (
        <Card>
          {records.length === 0 && <p className="px-4 py-3 text-sm text-muted">{t('network.no_records')}</p>}
          <ul className="divide-y divide-border">
            {records.map((record) => (
              <RecordRow key={record.id} record={record} />
            ))}
          </ul>
        </Card>
      )}
      {query.hasNextPage && (
        <Button
          size="sm"
          className="mt-3"
          isBusy={query.isFetchingNextPage}
          onClick={() => void query.fetchNextPage()}
        >
          {t('network.more')}
        </Button>
      )}
    </section>
  )
}

function RecordRow({ record }: { record: NetworkRecord }) {
  const { t } = useTranslation()
  const { host, port, reason, client, count } = record
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2.5 text-sm">
      <div className="min-w-0 flex-1 basis-52">
        <p className="font-mono wrap-anywhere">{port === 0 ? host : `${host}:${port}`}</p>
        <p className="text-xs text-muted">
          {[
            client,
            t('network.times', { count }),
            t('network.traffic', { sent: size(record.bytes_sent), received: size(record.bytes_received) }),
          ]
            .filter(Boolean)
            .join(' · ')}
        </p>
      </div>
      <Badge tone={reason ? 'warning' : 'success'}>{t(`network.outcome.${reason ?? 'allowed'}`)}</Badge>
      <TimeAndConversations at={record.last_at} conversations={record.conversations} />
    </li>
  )
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB']

function size(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(bytes) / 3))
  const value = bytes / 1000 ** power
  return `${value < 10 && power > 0 ? value.toFixed(1) : Math.round(value)} ${UNITS[power]}`
}
