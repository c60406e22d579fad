import { useInfiniteQuery } from '@tanstack/react-query'
import { Anchor, SearchX } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { conversationsQuery } from '@/api/conversations'
import type { AppConversation } from '@/api/types'
import { useDebounced } from '@/lib/use-debounced'
import { Button, buttonClass } from '@/ui/button'
import { Card } from '@/ui/card'
import { EmptyState } from '@/ui/empty-state'
import { ErrorState } from '@/ui/error-state'
import { Segmented } from '@/ui/segmented'
import { SkeletonList } from '@/ui/skeleton'
import { ArchiveDialog, type ArchiveDialogProps } from './archive-dialog'
import { ConversationRow } from './conversation-row'
import { DeleteDialog } from './delete-dialog'
import { RenameDialog } from './rename-dialog'
import { SearchField } from './search-field'

const SEARCH_DELAY_MS = 200

const WHOSE = ['all', 'own', 'shared'] as const
type Whose = (typeof WHOSE)[number]
const SHARED: Record<Whose, boolean | null> = { all: null, own: false, shared: true }

export interface ConversationsListProps {
  search: string
  onSearchChange: (search: string) => void
}

/** All conversations, with everything that can be done to one. */
export function ConversationsList({ search, onSearchChange }: ConversationsListProps) {
  const { t } = useTranslation()
  const applied = useDebounced(search.trim(), SEARCH_DELAY_MS)
  const [whose, setWhose] = useState<Whose>('all')
  const query = useInfiniteQuery(conversationsQuery(applied, SHARED[whose]))
  const [renamed, setRenamed] = useState<AppConversation | null>(null)
  const [doomed, setDoomed] = useState<AppConversation | null>(null)
  const [archived, setArchived] = useState<Omit<ArchiveDialogProps, 'onClose'> | null>(null)
  const items = query.data?.pages.flatMap((page) => page.items) ?? []

  return (
    <>
      <div className="mb-4 flex flex-wrap items-center gap-3">
        <div className="w-full max-w-md">
          <SearchField value={search} onValueChange={onSearchChange} />
        </div>
        <Segmented
          label={t('conversations.whose')}
          value={whose}
          options={WHOSE.map((value) => ({ value, label: t(`conversations.whose_${value}`) }))}
          onValueChange={setWhose}
        />
      </div>
      {query.isPending && <SkeletonList rows={6} label={t('conversations.loading')} className="h-16" />}
      {query.isError && !query.data && (
        <ErrorState
          error={query.error}
          title={t('error.load_conversations')}
          onRetry={() => void query.refetch()}
        />
      )}
      {query.isSuccess && (
        <Card>
          {items.length === 0 && (
            <NothingFound search={applied} isShared={whose === 'shared'} onClear={() => onSearchChange('')} />
          )}
          <ul className="divide-y divide-border">
            {items.map((conversation) => (
              <ConversationRow
                key={conversation.id}
                conversation={conversation}
                onRename={() => setRenamed(conversation)}
                onDelete={() => setDoomed(conversation)}
                onArchiveShared={(others) => setArchived({ conversation, others })}
              />
            ))}
          </ul>
        </Card>
      )}
      {query.hasNextPage && (
        <div className="mt-4 text-center">
          <Button isBusy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            {t('action.load_more')}
          </Button>
        </div>
      )}
      {renamed && <RenameDialog conversation={renamed} onClose={() => setRenamed(null)} />}
      {doomed && <DeleteDialog conversation={doomed} onClose={() => setDoomed(null)} />}
      {archived && <ArchiveDialog {...archived} onClose={() => setArchived(null)} />}
    </>
  )
}

interface NothingFoundProps {
  search: string
  isShared: boolean
  onClear: () => void
}

function NothingFound({ search, isShared, onClear }: NothingFoundProps) {
  const { t } = useTranslation()
  if (isShared && !search) return <EmptyState icon={<Anchor />} title={t('conversations.none_shared')} />
  if (search) {
    return (
      <EmptyState
        icon={<SearchX />}
        title={t('conversations.no_match', { query: search })}
        action={<Button onClick={onClear}>{t('conversations.clear_search')}</Button>}
      >
        {t('conversations.no_match_hint')}
      </EmptyState>
    )
  }
  return (
    <EmptyState
      icon={<Anchor />}
      title={t('conversations.empty')}
      action={
        <Link to="/" className={buttonClass('primary')}>
          {t('nav.new_task')}
        </Link>
      }
    >
      {t('conversations.empty_hint')}
    </EmptyState>
  )
}
