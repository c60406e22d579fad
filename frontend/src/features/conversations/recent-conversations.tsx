import { useInfiniteQuery } from '@tanstack/react-query'
import { Anchor, ArrowRight } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { conversationsQuery } from '@/api/conversations/conversations'
import { Card } from '@/ui/layout/card'
import { EmptyState } from '@/ui/feedback/empty-state'
import { ErrorState } from '@/ui/feedback/error-state'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { ConversationLink } from './conversation-link'

const SHOWN = 5

export function RecentConversations() {
  const { t } = useTranslation()
  const query = useInfiniteQuery(conversationsQuery())
  const items = query.data?.pages[0]?.items.slice(0, SHOWN) ?? []
  return (
    <section aria-labelledby="recent-title">
      <div className="mb-3 flex items-center justify-between">
        <h2 id="recent-title" className="eyebrow">
          {t('home.recent')}
        </h2>
        {items.length > 0 && (
          <Link
            to="/conversations"
            className="flex items-center gap-1 rounded-sm text-sm text-accent hover:underline"
          >
            {t('nav.all_conversations')}
            <ArrowRight aria-hidden className="size-3.5" />
          </Link>
        )}
      </div>
      {query.isPending && <SkeletonList rows={3} label={t('conversations.loading')} className="h-12" />}
      {query.isError && !query.data && (
        <ErrorState
          error={query.error}
          title={t('error.load_conversations')}
          onRetry={() => void query.refetch()}
        />
      )}
      {query.isSuccess && (
        <Card className="p-1.5">
          {items.length === 0 ? (
            <EmptyState icon={<Anchor />} title={t('home.recent_empty')}>
              {t('home.recent_empty_hint')}
            </EmptyState>
          ) : (
            <ul>
              {items.map((conversation) => (
                <li key={conversation.id}>
                  <ConversationLink conversation={conversation} />
                </li>
              ))}
            </ul>
          )}
        </Card>
      )}
    </section>
  )
}
