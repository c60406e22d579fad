import { Users } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { IconButton } from '@/ui/form/icon-button'
import { ShareDialog } from './share-dialog'

/** The button that opens the dialog for sharing. Only the owner of a conversation can share it. */
export function ShareButton({ conversationId }: { conversationId: string }) {
  const { t } = useTranslation()
  const [isOpen, setIsOpen] = useState(false)
  return (
    <>
      <IconButton
        size="sm"
        label={t('sharing.share')}
        icon={<Users aria-hidden className="size-4" />}
        onClick={() => setIsOpen(true)}
      />
      {isOpen && <ShareDialog conversationId={conversationId} onClose={() => setIsOpen(false)} />}
    </>
  )
}
