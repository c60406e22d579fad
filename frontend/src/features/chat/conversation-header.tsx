import { FolderGit2, FolderTree, GitBranch, Users } from 'lucide-react'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { conversationTitle } from '@/api/conversations/conversation-title'
import type { AppConversation } from '@/api/types'
import { repositoryName } from '@/lib/text/repository-name'
import { Badge } from '@/ui/feedback/badge'
import { ConfirmationModeMenu } from './approval/confirmation-mode-menu'
import { EditableTitle } from './editable-title'
import { ModelMenu } from './composer/model-menu'
import { SharedSandbox } from './notices/shared-sandbox'
import { Usage } from './notices/usage'

export interface ConversationHeaderProps {
  conversation: AppConversation
  /** Further controls at the end of the line. */
  actions?: ReactNode
  /**
   * Whether the user owns the conversation. Only the owner can rename it, choose its model and set its
   * confirmation mode.
   */
  isOwn: boolean
}

/** The header of a conversation: title, repository and branch, model, confirmation mode, and cost. */
export function ConversationHeader({ conversation, actions, isOwn }: ConversationHeaderProps) {
  const { t } = useTranslation()
  const {
    selected_repository: repository,
    selected_branch: branch,
    selected_directory: directory,
  } = conversation
  return (
    <header className="flex shrink-0 flex-wrap items-center gap-x-4 gap-y-0.5 border-b sm:flex-nowrap border-border px-3 py-1.5 sm:min-h-12 sm:px-6">
      <div className="min-w-0 max-sm:flex-1 sm:max-w-[45%] sm:shrink-0">
        {isOwn ? (
          <EditableTitle key={conversation.id} conversation={conversation} />
        ) : (
          <h1 className="truncate font-medium">{conversationTitle(t, conversation)}</h1>
        )}
      </div>
      {/* One line on a phone. Otherwise data that arrive later would move the conversation down. */}
      <div className="order-last flex min-w-0 max-sm:-my-1 max-sm:w-full max-sm:[scrollbar-width:none] max-sm:overflow-x-auto max-sm:py-1 max-sm:*:shrink-0 sm:order-none sm:flex-wrap items-center gap-x-4 gap-y-1 text-xs text-muted">
        {repository && (
          <span className="flex min-w-0 items-center gap-1.5" title={repository}>
            <FolderGit2 aria-hidden className="size-3.5 shrink-0" />
            <span className="truncate">{repositoryName(repository)}</span>
          </span>
        )}
        {directory && (
          <span className="flex min-w-0 items-center gap-1.5" title={t('home.directory')}>
            <FolderTree aria-hidden className="size-3.5 shrink-0" />
            <span className="truncate">{directory}</span>
          </span>
        )}
        {branch && (
          <span className="flex min-w-0 items-center gap-1.5">
            <GitBranch aria-hidden className="size-3.5 shrink-0" />
            <span className="truncate">{branch}</span>
          </span>
        )}
        {isOwn ? (
          <>
            <ModelMenu conversation={conversation} />
            <ConfirmationModeMenu conversation={conversation} />
          </>
        ) : (
          <>
            <Badge icon={<Users aria-hidden />}>
              {t('conversations.shared_by', { name: conversation.owner_name })}
            </Badge>
            <span>{conversation.llm_profile}</span>
          </>
        )}
        <SharedSandbox conversation={conversation} />
        <Usage conversation={conversation} />
      </div>
      {actions && <div className="ml-auto flex shrink-0 items-center gap-1">{actions}</div>}
    </header>
  )
}
