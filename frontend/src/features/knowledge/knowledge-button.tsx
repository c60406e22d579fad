import { BookOpenText } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Dialog } from '@/ui/overlay/dialog'
import { IconButton } from '@/ui/form/icon-button'
import { Knowledge } from './knowledge'

/** The button that opens the list of files that the agent of a conversation knows. */
export function KnowledgeButton({ conversationId }: { conversationId: string }) {
  const { t } = useTranslation()
  const [isOpen, setIsOpen] = useState(false)
  return (
    <>
      <IconButton
        size="sm"
        label={t('knowledge.button')}
        icon={<BookOpenText aria-hidden className="size-4" />}
        onClick={() => setIsOpen(true)}
      />
      {isOpen && (
        <Dialog
          isOpen
          onOpenChange={setIsOpen}
          title={t('knowledge.title')}
          description={t('knowledge.lead')}
          className="max-w-3xl!"
        >
          <Knowledge conversationId={conversationId} />
        </Dialog>
      )}
    </>
  )
}
