import { Archive, Ellipsis, GitBranch } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { conversationTitle } from '@/api/conversations/conversation-title'
import { statusPartsOf, statusText } from '@/api/conversations/conversation-status'
import type { AppConversation } from '@/api/types'
import { repositoryName } from '@/lib/text/repository-name'
import { formatAge, formatDateTime } from '@/lib/text/time'
import { Badge } from '@/ui/feedback/badge'
import { ConversationDot } from './conversation-dot'
import { ConversationMenu, type RenderShare } from './conversation-menu'
import { GoalMark } from './goal-mark'
import { NeedsYouBadge } from './needs-you-badge'
import { isSharedByOther, SharedBadge } from './shared-badge'
import { TagBadges } from './tag-badges'

export interface ConversationRowProps {
  conversation: AppConversation
  isSelected: boolean
  onSelectedChange: (isSelected: boolean) => void
  onDelete: () => void
  renderShare?: RenderShare
}

/** A conversation in the list of all conversations. The whole row is a link. The menu is above the link. */
export function ConversationRow({
  conversation,
  isSelected,
  onSelectedChange,
  onDelete,
  renderShare,
}: ConversationRowProps) {
  const { t } = useTranslation()
  const title = conversationTitle(t, conversation)
  const cost = (conversation.metrics?.accumulated_cost ?? 0) + (conversation.program_usage?.cost ?? 0)
  const isOwn = !isSharedByOther(conversation)
  return (
    <li className="relative flex items-center gap-3 px-4 py-3 hover:bg-hover/50">
      {isOwn ? (
        <label className="relative z-1 -m-2 p-2">
          <input
            type="checkbox"
            checked={isSelected}
            aria-label={t('selection.select', { title })}
            onChange={(event) => onSelectedChange(event.target.checked)}
            className="block size-4 accent-accent"
          />
        </label>
      ) : (
        <span className="size-4 shrink-0" />
      )}
      <ConversationDot conversation={conversation} />
      <div className="min-w-0 flex-1">
        <Link
          to={`/conversations/${conversation.id}`}
          className="block truncate font-medium after:absolute after:inset-0 after:rounded-md focus-visible:outline-none focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-accent"
        >
          {title}
        </Link>
        <p className="flex items-center gap-2 text-xs leading-5 text-muted">
          <span className="truncate" title={conversation.selected_repository ?? undefined}>
            {conversation.selected_repository
              ? repositoryName(conversation.selected_repository)
              : t('conversations.no_repository')}
          </span>
          {conversation.selected_branch && (
            <span className="flex min-w-0 items-center gap-1">
              <GitBranch aria-hidden className="size-3 shrink-0" />
              <span className="truncate">{conversation.selected_branch}</span>
            </span>
          )}
          <NeedsYouBadge conversation={conversation} />
          <GoalMark goal={conversation.goal} />
          <SharedBadge conversation={conversation} />
          {conversation.archived && (
            <Badge icon={<Archive aria-hidden />}>{t('conversations.archived')}</Badge>
          )}
          {conversation.llm_profile && (
            <span className="hidden truncate sm:inline">{conversation.llm_profile}</span>
          )}
        </p>
        <TagBadges conversation={conversation} />
      </div>
      <div className="hidden shrink-0 text-right text-xs leading-5 text-muted tabular-nums sm:block">
        <p>{statusText(t, statusPartsOf(conversation))}</p>
        {!!cost && <p title={t('conversations.cost')}>${cost.toFixed(2)}</p>}
      </div>
      <time
        dateTime={conversation.updated_at}
        title={formatDateTime(conversation.updated_at)}
        className="w-16 shrink-0 text-right text-xs text-muted tabular-nums"
      >
        {formatAge(conversation.updated_at)}
      </time>
      <ConversationMenu
        conversation={conversation}
        renderShare={renderShare}
        onDelete={onDelete}
        trigger={
          <button
            type="button"
            aria-label={`${t('action.more')}: ${title}`}
            className="relative inline-flex size-9 items-center justify-center rounded-md text-muted hover:bg-hover hover:text-text"
          >
            <Ellipsis aria-hidden className="size-4" />
          </button>
        }
      />
    </li>
  )
}
