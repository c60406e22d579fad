import { useQuery } from '@tanstack/react-query'
import { Link2, X } from 'lucide-react'
import { useId } from 'react'
import { useTranslation } from 'react-i18next'
import { linksQuery, useRemoveLink, type LinkInfo } from '@/api/conversations/links'
import { formatAge, formatDateTime } from '@/lib/text/time'
import { ErrorState } from '@/ui/feedback/error-state'
import { IconButton } from '@/ui/form/icon-button'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { NewLink } from './new-link'

/** The links with which people without an account can read the conversation. */
export function Links({ conversationId }: { conversationId: string }) {
  const { t } = useTranslation()
  const query = useQuery(linksQuery(conversationId))
  const titleId = useId()
  return (
    <section aria-labelledby={titleId} className="space-y-3 border-t border-border pt-4">
      <div>
        <h3 id={titleId} className="font-medium">
          {t('links.title')}
        </h3>
        <p className="text-sm text-muted">{t('links.lead')}</p>
      </div>
      {query.isPending && <SkeletonList rows={1} label={t('links.loading')} className="h-10" />}
      {query.isError && !query.data && (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      )}
      {query.data && query.data.length > 0 && (
        <ul aria-label={t('links.list')} className="divide-y divide-border">
          {query.data.map((link) => (
            <LinkRow key={link.id} conversationId={conversationId} link={link} />
          ))}
        </ul>
      )}
      <NewLink conversationId={conversationId} />
    </section>
  )
}

function LinkRow({ conversationId, link }: { conversationId: string; link: LinkInfo }) {
  const { t } = useTranslation()
  const remove = useRemoveLink(conversationId)
  const name = link.name || t('links.unnamed')
  const end = t(link.is_active ? 'links.ends' : 'links.ended', { date: formatDateTime(link.expires_at) })
  const used = link.last_used_at ? t('links.used', { age: formatAge(link.last_used_at) }) : t('links.unused')
  return (
    <li className="flex items-center gap-2 py-2">
      <Link2 aria-hidden className="size-4 shrink-0 text-muted" />
      <div className="min-w-0 flex-1">
        <p className="truncate">{name}</p>
        <p className="text-xs text-muted">
          {end} · {used}
        </p>
      </div>
      <IconButton
        size="sm"
        label={t('links.remove', { name })}
        hasTooltip={false}
        disabled={remove.isPending}
        icon={<X aria-hidden className="size-4" />}
        onClick={() => remove.mutate(link.id)}
      />
    </li>
  )
}
