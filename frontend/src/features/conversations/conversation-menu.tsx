import { useQuery } from '@tanstack/react-query'
import {
  Archive,
  ArchiveRestore,
  Boxes,
  Copy,
  GitFork,
  History,
  KeyRound,
  Package,
  Pencil,
  Search,
  Tag,
  Trash2,
  Users,
} from 'lucide-react'
import { useRef, useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useNavigate } from 'react-router'
import { useArchive, useBeginFromFiles } from '@/api/conversations/archives'
import { useArchiveConversations } from '@/api/conversations/batch'
import { isWithoutSandbox } from '@/api/conversations/conversation-status'
import { neighboursQuery } from '@/api/conversations/conversations'
import type { AppConversation } from '@/api/types'
import { DropdownMenu, MenuItem, MenuSeparator } from '@/ui/overlay/dropdown-menu'
import { ArchiveDialog } from './archive-dialog'
import { DownloadItems } from './download-items'
import { canCopyFiles } from './copyable-files'
import { ForkDialog } from './fork-dialog'
import { ModelKeyDialog } from './model-key-dialog'
import { RenameDialog } from './rename-dialog'
import { isSharedByOther } from './shared-badge'
import { TagsDialog } from './tags-dialog'

/**
 * Returns whether another conversation may work in the sandbox of this conversation. This is not possible if
 * the conversation began alone with an empty workspace, because the whole workspace then belongs to it.
 */
function canBeJoined({ id, sandbox_id, selected_repository, sandbox_status }: AppConversation): boolean {
  const isUp = sandbox_status === 'RUNNING' || sandbox_status === 'PAUSED'
  return isUp && (selected_repository !== null || (sandbox_id ?? id) !== id)
}

/** Renders the dialog that shares a conversation. The page supplies this function. */
export type RenderShare = (conversation: AppConversation, onClose: () => void) => ReactNode

export interface ConversationMenuProps {
  conversation: AppConversation
  /** The element that opens the menu. It must be a single button element. */
  trigger: ReactNode
  /**
   * Opens the page's question before the deletion. The page has the dialog, because the menu disappears with
   * the conversation.
   */
  onDelete: () => void
  renderShare?: RenderShare
  /** Opens the search in the conversation, if the menu is on the page of the conversation. */
  onFind?: () => void
}

/** The menu with all actions for a conversation. It is used in lists and on the page of the conversation. */
export function ConversationMenu({
  conversation,
  trigger,
  onDelete,
  renderShare,
  onFind,
}: ConversationMenuProps) {
  const { t } = useTranslation()
  const navigate = useNavigate()
  const [asked, setAsked] = useState<'rename' | 'tags' | 'share' | 'key' | 'fork' | null>(null)
  const [others, setOthers] = useState<AppConversation[] | null>(null)
  const archive = useArchiveConversations()
  const archiveSandbox = useArchive(conversation)
  const neighbours = useQuery({ ...neighboursQuery(conversation), enabled: false })
  const begin = useBeginFromFiles(conversation, (id) => void navigate(`/conversations/${id}`))
  const isOwn = !isSharedByOther(conversation)
  const hasFiles = isOwn && canCopyFiles(conversation)
  const isArchived = conversation.archived === true
  const wantsFind = useRef(false)
  const close = () => setAsked(null)
  async function handleArchiveSandbox() {
    const { data = [] } = await neighbours.refetch()
    if (data.length > 0) setOthers(data)
    else archiveSandbox.mutate()
  }
  return (
    <>
      <DropdownMenu
        trigger={trigger}
        onCloseAutoFocus={(event) => {
          if (!wantsFind.current) return
          wantsFind.current = false
          // The field of the search must get the focus, and not the button of the menu.
          event.preventDefault()
          onFind?.()
        }}
      >
        {isOwn && (
          <>
            <MenuItem icon={<Pencil />} onSelect={() => setAsked('rename')}>
              {t('action.rename')}
            </MenuItem>
            <MenuItem icon={<Tag />} onSelect={() => setAsked('tags')}>
              {t('tags.menu')}
            </MenuItem>
            {renderShare && (
              <MenuItem icon={<Users />} onSelect={() => setAsked('share')}>
                {t('sharing.share')}
              </MenuItem>
            )}
          </>
        )}
        {onFind && (
          <MenuItem icon={<Search />} onSelect={() => (wantsFind.current = true)}>
            {t('find.title')}
          </MenuItem>
        )}
        {conversation.last_seq > 0 && (
          <MenuItem
            icon={<History />}
            onSelect={() => void navigate(`/conversations/${conversation.id}?replay=0`)}
          >
            {t('replay.open')}
          </MenuItem>
        )}
        <DownloadItems conversation={conversation} />
        {isOwn && (
          <>
            <MenuSeparator />
            {canBeJoined(conversation) && (
              <MenuItem icon={<Boxes />} onSelect={() => void navigate(`/?beside=${conversation.id}`)}>
                {t('action.begin_beside')}
              </MenuItem>
            )}
            {hasFiles && conversation.last_seq > 0 && (
              <MenuItem icon={<GitFork />} onSelect={() => setAsked('fork')}>
                {t('fork.menu')}
              </MenuItem>
            )}
            {hasFiles && (
              <MenuItem icon={<Copy />} isDisabled={begin.isPending} onSelect={() => begin.mutate()}>
                {t('action.begin_from_files')}
              </MenuItem>
            )}
            {!isWithoutSandbox(conversation) && (
              <MenuItem icon={<KeyRound />} onSelect={() => setAsked('key')}>
                {t('model_key.menu')}
              </MenuItem>
            )}
            {hasFiles && conversation.sandbox_status !== 'ARCHIVED' && (
              <MenuItem
                icon={<Package />}
                isDisabled={archiveSandbox.isPending}
                onSelect={() => void handleArchiveSandbox()}
              >
                {t('action.archive_sandbox')}
              </MenuItem>
            )}
            <MenuSeparator />
            <MenuItem
              icon={isArchived ? <ArchiveRestore /> : <Archive />}
              isDisabled={archive.isPending}
              onSelect={() => archive.mutate({ ids: [conversation.id], archived: !isArchived })}
            >
              {t(isArchived ? 'action.unarchive' : 'action.archive')}
            </MenuItem>
            <MenuItem icon={<Trash2 />} isDanger onSelect={onDelete}>
              {t('action.delete')}
            </MenuItem>
          </>
        )}
      </DropdownMenu>
      {asked === 'rename' && <RenameDialog conversation={conversation} onClose={close} />}
      {asked === 'tags' && <TagsDialog conversations={[conversation]} onClose={close} />}
      {asked === 'share' && renderShare?.(conversation, close)}
      {asked === 'fork' && <ForkDialog conversation={conversation} onClose={close} />}
      {asked === 'key' && <ModelKeyDialog conversation={conversation} onClose={close} />}
      {others && (
        <ArchiveDialog conversation={conversation} others={others} onClose={() => setOthers(null)} />
      )}
    </>
  )
}
