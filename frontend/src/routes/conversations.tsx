import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { useSearchParams } from 'react-router'
import { currentUserQuery, mayWork } from '@/api/people/users'
import {
  filterOfParams,
  paramsOfFilter,
  type ConversationsFilter,
} from '@/features/conversations/filters/conversations-filter'
import { ConversationsList } from '@/features/conversations/conversations-list'
import { ImportButton } from '@/features/conversations/import-button'
import { ShareDialog } from '@/features/sharing/share-dialog'
import { useDocumentTitle } from '@/lib/hooks/use-document-title'

export function ConversationsRoute() {
  const { t } = useTranslation()
  const [params, setParams] = useSearchParams()
  const { data: user } = useQuery(currentUserQuery())
  function handleFilterChange(change: Partial<ConversationsFilter>) {
    // The page may still show an earlier address than the browser has. A change must keep all changes before it.
    const current = filterOfParams(new URLSearchParams(window.location.search))
    setParams(paramsOfFilter({ ...current, ...change }), { replace: true })
  }
  useDocumentTitle(t('conversations.title'))
  return (
    <div className="mx-auto max-w-4xl px-4 py-8 sm:px-8 lg:py-12">
      <div className="mb-6 flex items-center justify-between gap-3">
        <h1 className="text-2xl font-semibold tracking-tight">{t('conversations.title')}</h1>
        {user && mayWork(user) && <ImportButton />}
      </div>
      <ConversationsList
        filter={filterOfParams(params)}
        onFilterChange={handleFilterChange}
        renderShare={({ id }, onClose) => <ShareDialog conversationId={id} onClose={onClose} />}
      />
    </div>
  )
}
