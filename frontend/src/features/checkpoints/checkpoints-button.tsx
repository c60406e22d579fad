import { History } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Dialog } from '@/ui/overlay/dialog'
import { IconButton } from '@/ui/form/icon-button'
import { Checkpoints } from './checkpoints'

/** The button that opens the list of all checkpoints of a conversation. */
export function CheckpointsButton({ conversationId }: { conversationId: string }) {
  const { t } = useTranslation()
  const [isOpen, setIsOpen] = useState(false)
  return (
    <>
      <IconButton
        size="sm"
        label={t('checkpoints.title')}
        icon={<History aria-hidden className="size-4" />}
        onClick={() => setIsOpen(true)}
      />
      {isOpen && (
        <Dialog
          isOpen
          onOpenChange={setIsOpen}
          title={t('checkpoints.title')}
          description={t('checkpoints.lead')}
        >
          <Checkpoints conversationId={conversationId} onChosen={() => setIsOpen(false)} />
        </Dialog>
      )}
    </>
  )
}
