import clsx from 'clsx'
import { useTranslation } from 'react-i18next'
import { NavLink } from 'react-router'
import { conversationTitle } from '@/api/conversations/conversation-title'
import type { AppConversation } from '@/api/types'
import { repositoryName } from '@/lib/text/repository-name'
import { formatAge, formatDateTime } from '@/lib/text/time'
import { ConversationDot } from './conversation-dot'
import { GoalMark } from './goal-mark'
import { NeedsYouBadge } from './needs-you-badge'

export interface ConversationLinkProps {
  conversation: AppConversation
  onNavigate?: () => void
}

/** A conversation in the sidebar: its status, its title, its repository and the time of its last change. */
export function ConversationLink({ conversation, onNavigate }: ConversationLinkProps) {
  const { t } = useTranslation()
  return (
    <NavLink
      to={`/conversations/${conversation.id}`}
      onClick={onNavigate}
      className={({ isActive }) =>
        clsx(
          'grid grid-cols-[auto_1fr] items-baseline gap-x-2.5 rounded-md px-2.5 py-1.5',
          isActive ? 'bg-hover text-text' : 'text-text hover:bg-hover/60',
        )
      }
    >
      <ConversationDot conversation={conversation} />
      <span className="truncate text-sm">{conversationTitle(t, conversation)}</span>
      <span className="col-start-2 flex justify-between gap-2 text-xs text-muted">
        <span className="truncate">
          {conversation.selected_repository
            ? repositoryName(conversation.selected_repository)
            : t('conversations.no_repository')}
        </span>
        <NeedsYouBadge conversation={conversation} />
        <GoalMark goal={conversation.goal} />
        <time
          dateTime={conversation.updated_at}
          title={formatDateTime(conversation.updated_at)}
          className="shrink-0 tabular-nums"
        >
          {formatAge(conversation.updated_at)}
        </time>
      </span>
    </NavLink>
  )
}
