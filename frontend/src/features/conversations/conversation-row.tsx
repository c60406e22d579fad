import { Ellipsis, GitBranch, Pencil, Trash2 } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { conversationPhase } from '@/api/conversation-phase'
import type { AppConversation } from '@/api/types'
import { repositoryName } from '@/lib/repository-name'
import { formatAge, formatDateTime } from '@/lib/time'
import { DropdownMenu, MenuItem } from '@/ui/dropdown-menu'
import { GoalMark } from './goal-mark'
import { PhaseDot } from './phase-dot'

export interface ConversationRowProps {
  conversation: AppConversation
  onRename: () => void
  onDelete: () => void
}

/** A conversation on the page of all of them. The whole row is the link; the menu stands above it. */
export function ConversationRow({ conversation, onRename, onDelete }: ConversationRowProps) {
  const { t } = useTranslation()
  const title = conversation.title || t('conversations.untitled')
  const cost = conversation.metrics?.accumulated_cost
  return (
    <li className="relative flex items-center gap-3 px-4 py-3 hover:bg-hover/50">
      <PhaseDot conversation={conversation} />
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
          <GoalMark goal={conversation.goal} />
          {conversation.llm_profile && (
            <span className="hidden truncate sm:inline">{conversation.llm_profile}</span>
          )}
        </p>
      </div>
      <div className="hidden shrink-0 text-right text-xs leading-5 text-muted tabular-nums sm:block">
        <p>{t(`phase.${conversationPhase(conversation)}`)}</p>
        {!!cost && <p title={t('conversations.cost')}>${cost.toFixed(2)}</p>}
      </div>
      <time
        dateTime={conversation.updated_at}
        title={formatDateTime(conversation.updated_at)}
        className="w-16 shrink-0 text-right text-xs text-muted tabular-nums"
      >
        {formatAge(conversation.updated_at)}
      </time>
      <DropdownMenu
        trigger={
          <button
            type="button"
            aria-label={`${t('action.more')}: ${title}`}
            className="relative inline-flex size-9 items-center justify-center rounded-md text-muted hover:bg-hover hover:text-text"
          >
            <Ellipsis aria-hidden className="size-4" />
          </button>
        }
      >
        <MenuItem icon={<Pencil />} onSelect={onRename}>
          {t('action.rename')}
        </MenuItem>
        <MenuItem icon={<Trash2 />} isDanger onSelect={onDelete}>
          {t('action.delete')}
        </MenuItem>
      </DropdownMenu>
    </li>
  )
}
