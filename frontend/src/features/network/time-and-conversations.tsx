import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { conversationTitle } from '@/api/conversations/conversation-title'
import type { SandboxConversation } from '@/api/sandboxes/network'
import { formatAge, formatDateTime } from '@/lib/text/time'

export interface TimeAndConversationsProps {
  at: string
  /** The conversations that may have caused the event. */
  conversations: SandboxConversation[]
}

/** The time of an event and its conversation. If conversations share the sandbox, all of them are named. */
export function TimeAndConversations({ at, conversations }: TimeAndConversationsProps) {
  const { t } = useTranslation()
  const [only, ...others] = conversations
  if (only && others.length === 0)
    return (
      <Link
        to={`/conversations/${only.id}`}
        title={formatDateTime(at)}
        aria-label={t('network.happened_in', { age: formatAge(at), title: conversationTitle(t, only) })}
        className="text-xs text-muted underline hover:text-text"
      >
        {formatAge(at)}
      </Link>
    )
  return (
    <>
      <time dateTime={at} title={formatDateTime(at)} className="text-xs text-muted">
        {formatAge(at)}
      </time>
      {only && (
        <div className="flex min-w-0 basis-full flex-wrap gap-x-2 text-xs text-muted">
          <span>{t('network.one_of')}</span>
          <ul aria-label={t('network.one_of_label')} className="contents">
            {conversations.map((each) => (
              <li key={each.id} className="min-w-0">
                <Link
                  to={`/conversations/${each.id}`}
                  className="block max-w-60 truncate underline hover:text-text"
                >
                  {conversationTitle(t, each)}
                </Link>
              </li>
            ))}
          </ul>
        </div>
      )}
    </>
  )
}
