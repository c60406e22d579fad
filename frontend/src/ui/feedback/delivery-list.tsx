import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { Badge, type Tone } from './badge'
import { Button } from '@/ui/form/button'
import { ErrorState } from './error-state'
import { SkeletonList } from './skeleton'

export interface DeliveryListProps<Item> {
  label: string
  loadingLabel: string
  emptyText: string
  query: {
    data: { pages: { items: Item[] }[] } | undefined
    isPending: boolean
    isError: boolean
    error: Error | null
    hasNextPage: boolean
    isFetchingNextPage: boolean
    refetch: () => unknown
    fetchNextPage: () => unknown
  }
  renderItem: (item: Item) => ReactNode
}

/**
 * A list of the deliveries that the app server sent to or received from another program. The newest delivery
 * comes first. The list loads page by page.
 */
export function DeliveryList<Item>({
  label,
  loadingLabel,
  emptyText,
  query,
  renderItem,
}: DeliveryListProps<Item>) {
  const { t } = useTranslation()
  const found = query.data?.pages.flatMap((page) => page.items) ?? []
  return (
    <div role="region" aria-label={label} className="mt-3 rounded-lg bg-sunken px-3 py-1">
      {query.isPending && <SkeletonList rows={2} label={loadingLabel} className="h-10" />}
      {query.isError && !query.data && (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      )}
      {query.data && found.length === 0 && <p className="py-2 text-sm text-muted">{emptyText}</p>}
      <ul className="divide-y divide-border">{found.map(renderItem)}</ul>
      {query.hasNextPage && (
        <Button
          size="sm"
          className="my-2"
          isBusy={query.isFetchingNextPage}
          onClick={() => void query.fetchNextPage()}
        >
          {t('action.load_more')}
        </Button>
      )}
    </div>
  )
}

export interface DeliveryItemProps {
  title: ReactNode
  state: string
  tone: Tone
  facts: string
  /** The reason why the delivery failed or was ignored. */
  reason: ReactNode
  /** Content at the end of the row. */
  children?: ReactNode
}

export function DeliveryItem({ title, state, tone, facts, reason, children }: DeliveryItemProps) {
  return (
    <li className="flex flex-wrap items-start gap-x-4 gap-y-2 py-2">
      <div className="min-w-0 flex-1 basis-52">
        <p className="flex flex-wrap items-center gap-2 text-sm">
          <span className="wrap-anywhere">{title}</span>
          <Badge tone={tone}>{state}</Badge>
        </p>
        <p className="text-xs wrap-anywhere text-muted">{facts}</p>
        {reason}
      </div>
      {children}
    </li>
  )
}
