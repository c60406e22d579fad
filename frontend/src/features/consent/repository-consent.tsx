import { useQuery } from '@tanstack/react-query'
import { FolderCheck, TriangleAlert } from 'lucide-react'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { conversationConsentQuery } from '@/api/approval/consent'
import { useConversation } from '@/events/use-conversation'
import { Button } from '@/ui/form/button'
import { ConsentDialog } from './consent-dialog'

/** Says that the repository wants to run something, until the user has answered. */
export function RepositoryConsent({ conversationId }: { conversationId: string }) {
  const { t } = useTranslation()
  const [isOpen, setIsOpen] = useState(false)
  // A sleeping sandbox cannot report executables.
  const isAwake = useConversation((state) => state.view.conversation?.sandbox_status === 'RUNNING')
  const { data, refetch } = useQuery({ ...conversationConsentQuery(conversationId), enabled: isAwake })
  const status = useConversation((state) => state.view.conversation?.execution_status)
  const task = useConversation((state) => state.view.startTask)
  // The agent may have changed the executables since the last load.
  useEffect(() => {
    if (isAwake) void refetch()
  }, [refetch, isAwake, status])
  const further = data?.further ?? []
  const items = [...(data?.items ?? []), ...further.flatMap((one) => one.items)]
  if (!data || items.length === 0) return null
  const waiting = items.filter(({ state }) => state === 'pending').length
  const setup = task?.stages.find((stage) => stage.status === 'RUNNING_SETUP_SCRIPT')
  return (
    <>
      {waiting > 0 ? (
        <div
          role="status"
          className="flex items-center gap-2 border-b border-warning/30 bg-warning-soft px-4 py-1.5 text-sm"
        >
          <FolderCheck aria-hidden className="size-4 shrink-0 text-warning" />
          <p className="min-w-0 flex-1">
            {t(further.length > 0 ? 'consent.banner_several' : 'consent.banner', { count: waiting })}
          </p>
          <Button size="sm" onClick={() => setIsOpen(true)}>
            {t('consent.review')}
          </Button>
        </div>
      ) : setup?.state === 'failed' ? (
        <div
          role="status"
          className="flex items-center gap-2 border-b border-danger/30 bg-danger-soft px-4 py-1.5 text-sm"
        >
          <TriangleAlert aria-hidden className="size-4 shrink-0 text-danger" />
          <p className="min-w-0 flex-1">{t('consent.setup.failed')}</p>
          <Button size="sm" onClick={() => setIsOpen(true)}>
            {t('consent.review')}
          </Button>
        </div>
      ) : (
        <div className="flex justify-end border-b border-border px-4 py-0.5">
          <Button size="sm" variant="ghost" onClick={() => setIsOpen(true)}>
            {t(further.length > 0 ? 'consent.button_several' : 'consent.button')}
          </Button>
        </div>
      )}
      {isOpen && (
        <ConsentDialog
          conversationId={conversationId}
          consent={data}
          setup={setup}
          onClose={() => setIsOpen(false)}
        />
      )}
    </>
  )
}
