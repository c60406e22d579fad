import { useQuery } from '@tanstack/react-query'
import { Boxes, ChevronDown } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { conversationTitle } from '@/api/conversations/conversation-title'
import { neighboursQuery } from '@/api/conversations/conversations'
import type { AppConversation } from '@/api/types'
import { Popover } from '@/ui/overlay/popover'

/** Lists the conversations that share this sandbox, and explains what that means. */
export function SharedSandbox({ conversation }: { conversation: AppConversation }) {
  const { t } = useTranslation()
  const { data: others = [] } = useQuery(neighboursQuery(conversation))
  if (others.length === 0) return null
  return (
    <Popover
      align="start"
      label={t('shared_sandbox.title')}
      trigger={
        <button
          type="button"
          aria-label={t('shared_sandbox.label', { count: others.length })}
          className="-mx-1 flex items-center gap-1 rounded px-1 hover:bg-hover hover:text-text"
        >
          <Boxes aria-hidden className="size-3.5 shrink-0" />
          {t('shared_sandbox.short', { count: others.length })}
          <ChevronDown aria-hidden className="size-3" />
        </button>
      }
    >
      <p className="text-sm font-medium">{t('shared_sandbox.title')}</p>
      <ul aria-label={t('shared_sandbox.others')} className="-mx-1 mt-1 max-h-48 overflow-y-auto text-sm">
        {others.map((other) => (
          <li key={other.id}>
            <Link
              to={`/conversations/${other.id}`}
              className="block truncate rounded px-1 py-1 text-accent hover:bg-hover"
            >
              {conversationTitle(t, other)}
            </Link>
          </li>
        ))}
      </ul>
      <Link
        to={`/?beside=${conversation.id}`}
        className="-mx-1 mt-1 block rounded px-1 py-1 text-sm text-accent hover:bg-hover"
      >
        {t('shared_sandbox.begin')}
      </Link>
      <p className="mt-2 text-xs text-muted">{t('shared_sandbox.meaning')}</p>
    </Popover>
  )
}
