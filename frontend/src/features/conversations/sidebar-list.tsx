import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { conversationsQuery } from '@/api/conversations/conversations'
import { useNeedsYou } from '@/api/conversations/needs-you'
import { useDebounced } from '@/lib/hooks/use-debounced'
import { Button } from '@/ui/form/button'
import { ErrorState } from '@/ui/feedback/error-state'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { ConversationLink } from './conversation-link'
import { SearchField } from './filters/search-field'

const SEARCH_DELAY_MS = 200

/**
 * The list of conversations in the sidebar. The search is at the top. The newest conversation comes first,
 * and older ones are loaded on demand.
 */
export function SidebarList({ onNavigate }: { onNavigate?: () => void }) {
  const { t } = useTranslation()
  const [search, setSearch] = useState('')
  const words = useDebounced(search.trim(), SEARCH_DELAY_MS)
  const query = useInfiniteQuery(conversationsQuery({ words }))
  const items = query.data?.pages.flatMap((page) => page.items) ?? []
  // Waiting conversations are always shown, even if they are old or do not match the search.
  const elsewhere = useNeedsYou().filter(({ id }) => !items.some((item) => item.id === id))

  return (
    <section aria-label={t('nav.conversations')} className="flex min-h-0 flex-1 flex-col gap-2">
      <div className="px-3">
        <SearchField
          value={search}
          onValueChange={setSearch}
          className="h-9 border-border bg-transparent pl-8"
        />
      </div>
      <div className="min-h-0 flex-1 overflow-y-auto px-2 pb-3">
        {query.isPending && <SkeletonList rows={5} label={t('conversations.loading')} className="h-11" />}
        {query.isError && !query.data && (
          <ErrorState
            error={query.error}
            title={t('error.load_conversations')}
            onRetry={() => void query.refetch()}
            className="flex-col"
          />
        )}
        {query.isSuccess && items.length === 0 && (
          <p className="px-2.5 py-2 text-sm text-muted">
            {search.trim()
              ? t('conversations.no_match', { query: search.trim() })
              : t('home.recent_empty_hint')}
          </p>
        )}
        {elsewhere.length > 0 && (
          <ul
            aria-label={t('needs_you.title')}
            className="mb-2 flex flex-col gap-px border-b border-border pb-2"
          >
            {elsewhere.map((conversation) => (
              <li key={conversation.id}>
                <ConversationLink conversation={conversation} onNavigate={onNavigate} />
              </li>
            ))}
          </ul>
        )}
        <ul className="flex flex-col gap-px">
          {items.map((conversation) => (
            <li key={conversation.id}>
              <ConversationLink conversation={conversation} onNavigate={onNavigate} />
            </li>
          ))}
        </ul>
        {query.hasNextPage && (
          <Button
            variant="ghost"
            size="sm"
            className="mt-1 w-full"
            isBusy={query.isFetchingNextPage}
            onClick={() => void query.fetchNextPage()}
          >
            {t('action.load_more')}
          </Button>
        )}
      </div>
    </section>
  )
}
