import { Ellipsis } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useNavigate } from 'react-router'
import type { AppConversation } from '@/api/types'
import { IconButton } from '@/ui/form/icon-button'
import { ConversationMenu, type RenderShare } from './conversation-menu'
import { DeleteDialog } from './delete-dialog'

export interface HeaderMenuProps {
  conversation: AppConversation
  renderShare: RenderShare
  /** Opens the search in the conversation. */
  onFind?: () => void
}

/** The menu on the page of a conversation. After a deletion, it opens the list of all conversations. */
export function HeaderMenu({ conversation, renderShare, onFind }: HeaderMenuProps) {
  const { t } = useTranslation()
  const navigate = useNavigate()
  const [isDeleting, setDeleting] = useState(false)
  return (
    <>
      <ConversationMenu
        conversation={conversation}
        renderShare={renderShare}
        onFind={onFind}
        onDelete={() => setDeleting(true)}
        trigger={
          <IconButton
            size="sm"
            label={t('action.more')}
            hasTooltip={false}
            icon={<Ellipsis aria-hidden className="size-4" />}
          />
        }
      />
      {isDeleting && (
        <DeleteDialog
          conversation={conversation}
          onClose={() => setDeleting(false)}
          onDeleted={() => void navigate('/conversations', { replace: true })}
        />
      )}
    </>
  )
}
