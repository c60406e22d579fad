import { useQuery } from '@tanstack/react-query'
import { Archive, Boxes, Copy, Ellipsis, GitBranch, KeyRound, Pencil, Tag, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Link, useNavigate } from 'react-router'
import { useArchive, useBeginFromFiles } from '@/api/conversations/archives'
import { conversationTitle } from '@/api/conversations/conversation-title'
import { neighboursQuery } from '@/api/conversations/conversations'
import { isImported, standingOf, statusText } from '@/api/conversations/conversation-status'
import type { AppConversation } from '@/api/types'
import { repositoryName } from '@/lib/text/repository-name'
import { formatAge, formatDateTime } from '@/lib/text/time'
import { DropdownMenu, MenuItem } from '@/ui/overlay/dropdown-menu'
import { ConversationDot } from './conversation-dot'
import { DownloadItems } from './download-items'
import { hasFilesAtRest } from './files-at-rest'
import { GoalMark } from './goal-mark'
import { ModelKeyDialog } from './model-key-dialog'
import { NeedsYouBadge } from './needs-you-badge'
import { isOfAnother, SharedBadge } from './shared-badge'
import { TagBadges } from './tag-badges'
import { TagsDialog } from './tags-dialog'

/** Whether another may work in its sandbox: not where it began alone with an empty workspace, which is all its own. */
function canBeJoined({ id, sandbox_id, selected_repository, sandbox_status }: AppConversation): boolean {
  const isUp = sandbox_status === 'RUNNING' || sandbox_status === 'PAUSED'
  return isUp && (selected_repository !== null || (sandbox_id ?? id) !== id)
}

export interface ConversationRowProps {
  conversation: AppConversation
  isSelected: boolean
  onSelectedChange: (isSelected: boolean) => void
  onRename: () => void
  onDelete: () => void
  /** Others share its sandbox: the user has to agree that they go along. */
  onArchiveShared: (others: AppConversation[]) => void
}

/** A conversation on the page of all of them. The whole row is the link; the menu stands above it. */
export function ConversationRow({
  conversation,
  isSelected,
  onSelectedChange,
  onRename,
  onDelete,
  onArchiveShared,
}: ConversationRowProps) {
  const { t } = useTranslation()
  const title = conversationTitle(t, conversation)
  const cost = (conversation.metrics?.accumulated_cost ?? 0) + (conversation.program_usage?.cost ?? 0)
  const navigate = useNavigate()
  const archive = useArchive(conversation)
  const neighbours = useQuery({ ...neighboursQuery(conversation), enabled: false })
  const begin = useBeginFromFiles(conversation, (id) => void navigate(`/conversations/${id}`))
  async function handleArchive() {
    const { data: others = [] } = await neighbours.refetch()
    if (others.length > 0) onArchiveShared(others)
    else archive.mutate()
  }
  const isOwn = !isOfAnother(conversation)
  const [isKeyOpen, setKeyOpen] = useState(false)
  const [isTagging, setTagging] = useState(false)
  const hasFiles = isOwn && hasFilesAtRest(conversation)
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
          {conversation.llm_profile && (
            <span className="hidden truncate sm:inline">{conversation.llm_profile}</span>
          )}
        </p>
        <TagBadges conversation={conversation} />
      </div>
      <div className="hidden shrink-0 text-right text-xs leading-5 text-muted tabular-nums sm:block">
        <p>{statusText(t, standingOf(conversation))}</p>
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
        {isOwn && (
          <MenuItem icon={<Pencil />} onSelect={onRename}>
            {t('action.rename')}
          </MenuItem>
        )}
        {isOwn && (
          <MenuItem icon={<Tag />} onSelect={() => setTagging(true)}>
            {t('tags.menu')}
          </MenuItem>
        )}
        {isOwn && canBeJoined(conversation) && (
          <MenuItem icon={<Boxes />} onSelect={() => void navigate(`/?beside=${conversation.id}`)}>
            {t('action.begin_beside')}
          </MenuItem>
        )}
        {hasFiles && (
          <MenuItem icon={<Copy />} isDisabled={begin.isPending} onSelect={() => begin.mutate()}>
            {t('action.begin_from_files')}
          </MenuItem>
        )}
        {hasFiles && conversation.sandbox_status !== 'ARCHIVED' && (
          <MenuItem icon={<Archive />} isDisabled={archive.isPending} onSelect={() => void handleArchive()}>
            {t('action.archive')}
          </MenuItem>
        )}
        {isOwn && !isImported(conversation) && (
          <MenuItem icon={<KeyRound />} onSelect={() => setKeyOpen(true)}>
            {t('model_key.menu')}
          </MenuItem>
        )}
        <DownloadItems conversation={conversation} />
        {isOwn && (
          <MenuItem icon={<Trash2 />} isDanger onSelect={onDelete}>
            {t('action.delete')}
          </MenuItem>
        )}
      </DropdownMenu>
      {isTagging && <TagsDialog conversations={[conversation]} onClose={() => setTagging(false)} />}
      {isKeyOpen && <ModelKeyDialog conversation={conversation} onClose={() => setKeyOpen(false)} />}
    </li>
  )
}
