import { CloudOff } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { useConversation, useConversationStore } from '@/events/use-conversation'
import { useNow } from '@/lib/hooks/use-now'
import { Button } from '@/ui/form/button'

/** Says that the page may be out of date, and when the page tries to connect again. */
export function ConnectionBanner() {
  const { t } = useTranslation()
  const store = useConversationStore()
  const connection = useConversation((state) => state.connection)
  const isWaiting = connection.state === 'waiting'
  const now = useNow(isWaiting)
  if (!isWaiting) return null
  const seconds = Math.max(1, Math.ceil((connection.retryAt - now) / 1000))
  return (
    <div
      role="status"
      className="flex items-center gap-2 border-b border-warning/30 bg-warning-soft px-4 py-1 text-sm"
    >
      <CloudOff aria-hidden className="size-4 shrink-0 text-warning" />
      <p className="min-w-0 flex-1">
        {t('connection.lost')}{' '}
        <span aria-hidden className="text-muted">
          {t('connection.retry_in', { seconds })}
        </span>
      </p>
      <Button size="sm" variant="ghost" onClick={store.retryNow}>
        {t('connection.retry_now')}
      </Button>
    </div>
  )
}
