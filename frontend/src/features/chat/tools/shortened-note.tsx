import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useConversation, useConversationStore } from '@/events/use-conversation'
import { Button } from '@/ui/form/button'

/** Says that the middle of an output is not shown, and loads the whole output on request. */
export function ShortenedNote({ eventId }: { eventId: string | undefined }) {
  const { t } = useTranslation()
  const store = useConversationStore()
  const isShortened = useConversation(({ view }) => eventId !== undefined && view.shortened.has(eventId))
  const [loading, setLoading] = useState<{ isBusy: boolean; error: unknown }>({ isBusy: false, error: null })
  if (!isShortened || eventId === undefined) return null

  async function showWhole(id: string) {
    setLoading({ isBusy: true, error: null })
    try {
      await store.loadWhole(id)
      setLoading({ isBusy: false, error: null })
    } catch (error) {
      setLoading({ isBusy: false, error })
    }
  }

  return (
    <p className="mt-1.5 flex flex-wrap items-center gap-x-2 text-xs text-muted">
      {loading.error === null ? t('chat.shortened') : t('chat.whole_failed')}
      <Button size="sm" variant="ghost" isBusy={loading.isBusy} onClick={() => void showWhole(eventId)}>
        {t('chat.show_whole')}
      </Button>
    </p>
  )
}
