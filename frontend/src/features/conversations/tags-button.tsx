import { Tag } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { AppConversation } from '@/api/types'
import { IconButton } from '@/ui/form/icon-button'
import { TagsDialog } from './tags-dialog'

/** Opens the tags of a conversation. */
export function TagsButton({ conversation }: { conversation: AppConversation }) {
  const { t } = useTranslation()
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <IconButton
        size="sm"
        label={t('tags.menu')}
        onClick={() => setOpen(true)}
        icon={<Tag aria-hidden className="size-4" />}
      />
      {isOpen && <TagsDialog conversations={[conversation]} onClose={() => setOpen(false)} />}
    </>
  )
}
