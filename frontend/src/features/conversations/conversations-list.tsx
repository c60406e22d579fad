import { useInfiniteQuery } from '@tanstack/react-query'
import { Anchor, SearchX } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { conversationsQuery } from '@/api/conversations/conversations'
import type { AppConversation } from '@/api/types'
import { useDebounced } from '@/lib/hooks/use-debounced'
import { Button, buttonClass } from '@/ui/form/button'
import { Card } from '@/ui/layout/card'
import { EmptyState } from '@/ui/feedback/empty-state'
import { ErrorState } from '@/ui/feedback/error-state'
import { Input } from '@/ui/form/input'
import { Segmented } from '@/ui/form/segmented'
import { Select } from '@/ui/form/select'
import { SkeletonList } from '@/ui/feedback/skeleton'
import type { RenderShare } from './conversation-menu'
import { ConversationRow } from './conversation-row'
import {
  isArchivedFilter,
  isFiltered,
  NO_FILTER,
  searchOfFilter,
  type ConversationsFilter,
} from './filters/conversations-filter'
import { DeleteDialog } from './delete-dialog'
import { MoreFilters } from './filters/more-filters'
import { SearchField } from './filters/search-field'
import { SelectionBar } from './selection-bar'
import { TagFilter } from './filters/tag-filter'

const SEARCH_DELAY_MS = 200

const WHOSE = ['all', 'own', 'shared'] as const
type Whose = (typeof WHOSE)[number]
const SHARED: Record<Whose, boolean | null> = { all: null, own: false, shared: true }

const STATUSES = ['running', 'waiting_for_confirmation', 'paused', 'finished', 'error', 'stuck'] as const

export interface ConversationsListProps {
  filter: ConversationsFilter
  /** Called with the changed values only. */
  onFilterChange: (change: Partial<ConversationsFilter>) => void
  renderShare?: RenderShare
}

/** The list of all conversations, with all actions for each of them. */
export function ConversationsList({ filter, onFilterChange, renderShare }: ConversationsListProps) {
  const { t } = useTranslation()
  const applied = useDebounced(filter.search.trim(), SEARCH_DELAY_MS)
  const repository = useDebounced(filter.repository.trim(), SEARCH_DELAY_MS)
  const [whose, setWhose] = useState<Whose>('all')
  const query = useInfiniteQuery(
    conversationsQuery({
      ...searchOfFilter({ ...filter, search: applied, repository }),
      shared: SHARED[whose],
    }),
  )
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const [doomed, setDoomed] = useState<AppConversation | null>(null)
  const items = query.data?.pages.flatMap((page) => page.items) ?? []
  const selected = items.filter((item) => chosen.has(item.id))
  function handleSelect(id: string, isSelected: boolean) {
    const others = [...chosen].filter((each) => each !== id)
    setChosen(new Set(isSelected ? [...others, id] : others))
  }

  return (
    <>
      <div className="mb-4 flex flex-wrap items-center gap-3">
        <div className="w-full max-w-md">
          <SearchField value={filter.search} onValueChange={(search) => onFilterChange({ search })} />
        </div>
        <Segmented
          label={t('conversations.whose')}
          value={whose}
          options={WHOSE.map((value) => ({ value, label: t(`conversations.whose_${value}`) }))}
          onValueChange={setWhose}
        />
        <Input
          type="search"
          aria-label={t('conversations.filter_repository')}
          placeholder={t('conversations.filter_repository')}
          value={filter.repository}
          onChange={(event) => onFilterChange({ repository: event.target.value })}
          className="w-full sm:w-56"
        />
        <Select
          aria-label={t('conversations.filter_status')}
          value={filter.status}
          onChange={(event) => onFilterChange({ status: event.target.value })}
          className="w-full sm:w-52"
        >
          <option value="">{t('conversations.any_status')}</option>
          {STATUSES.map((status) => (
            <option key={status} value={status}>
              {t(`status.${status}`)}
            </option>
          ))}
        </Select>
        <Select
          aria-label={t('conversations.filter_archived')}
          value={filter.archived}
          onChange={({ target: { value } }) =>
            onFilterChange({ archived: isArchivedFilter(value) ? value : '' })
          }
          className="w-full sm:w-44"
        >
          <option value="">{t('conversations.not_archived')}</option>
          <option value="archived">{t('conversations.archived')}</option>
          <option value="all">{t('conversations.archived_too')}</option>
        </Select>
        <TagFilter value={filter.tag} onValueChange={(tag) => onFilterChange({ tag })} />
        <MoreFilters filter={filter} onFilterChange={onFilterChange} />
      </div>
      {selected.length > 0 && <SelectionBar selected={selected} onClear={() => setChosen(new Set())} />}
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
            <NothingFound
              search={applied}
              isFiltered={isFiltered({ ...filter, search: applied, repository })}
              isShared={whose === 'shared'}
              onClear={() => onFilterChange(NO_FILTER)}
            />
          )}
          <ul className="divide-y divide-border">
            {items.map((conversation) => (
              <ConversationRow
                key={conversation.id}
                conversation={conversation}
                isSelected={chosen.has(conversation.id)}
                onSelectedChange={(isSelected) => handleSelect(conversation.id, isSelected)}
                onDelete={() => setDoomed(conversation)}
                renderShare={renderShare}
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
      {doomed && <DeleteDialog conversation={doomed} onClose={() => setDoomed(null)} />}
    </>
  )
}

interface NothingFoundProps {
  search: string
  isFiltered: boolean
  isShared: boolean
  onClear: () => void
}

function NothingFound({ search, isFiltered, isShared, onClear }: NothingFoundProps) {
  const { t } = useTranslation()
  if (isShared && !isFiltered) return <EmptyState icon={<Anchor />} title={t('conversations.none_shared')} />
  if (isFiltered) {
    return (
      <EmptyState
        icon={<SearchX />}
        title={search ? t('conversations.no_match', { query: search }) : t('conversations.no_match_filters')}
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
