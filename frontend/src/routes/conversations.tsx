import { useTranslation } from 'react-i18next'
import { useSearchParams } from 'react-router'
import { ConversationsList } from '@/features/conversations/conversations-list'
import { useDocumentTitle } from '@/lib/use-document-title'

export function ConversationsRoute() {
  const { t } = useTranslation()
  const [params, setParams] = useSearchParams()
  useDocumentTitle(t('conversations.title'))
  return (
    <div className="mx-auto max-w-4xl px-4 py-8 sm:px-8 lg:py-12">
      <h1 className="mb-6 text-2xl font-semibold tracking-tight">{t('conversations.title')}</h1>
      <ConversationsList
        filter={{
          search: params.get('q') ?? '',
          repository: params.get('repository') ?? '',
          status: params.get('status') ?? '',
          tag: params.get('tag') ?? '',
        }}
        onFilterChange={({ search, repository, status, tag }) => {
          const chosen = Object.entries({ q: search, repository, status, tag }).filter(([, value]) => value)
          setParams(Object.fromEntries(chosen), { replace: true })
        }}
      />
    </div>
  )
}
