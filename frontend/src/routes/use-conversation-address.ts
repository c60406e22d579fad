import { useCallback } from 'react'
import { useTranslation } from 'react-i18next'
import { useSearchParams } from 'react-router'
import { toast } from 'sonner'
import { copyText } from '@/lib/browser/copy-text'

export interface ConversationAddress {
  /** The event that the address leads to. */
  eventId: string | null
  /** The position at which the replay begins. Null if the replay is not open. */
  replayFrom: number | null
  copyEventLink: (eventId: string) => void
  copyReplayLink: (seq: number) => void
  openReplay: (seq: number) => void
  closeReplay: () => void
}

/** Reads the parameters of the address: `?event=ID` leads to an event, and `?replay=SEQ` opens the replay. */
export function useConversationAddress(conversationId: string): ConversationAddress {
  const { t } = useTranslation()
  const [params, setParams] = useSearchParams()
  const copy = useCallback(
    (name: string, value: string) => {
      const address = new URL(`/conversations/${conversationId}`, window.location.origin)
      address.searchParams.set(name, value)
      void copyText(address.href).then((isCopied) => {
        if (isCopied) toast.success(t('chat.link_copied'))
        else toast.error(t('action.copy_failed'), { description: address.href })
      })
    },
    [conversationId, t],
  )
  const replay = params.get('replay')
  return {
    eventId: params.get('event'),
    replayFrom: replay !== null && /^\d+$/.test(replay) ? Number(replay) : null,
    copyEventLink: useCallback((eventId) => copy('event', eventId), [copy]),
    copyReplayLink: useCallback((seq) => copy('replay', String(seq)), [copy]),
    openReplay: useCallback((seq) => setParams({ replay: String(seq) }), [setParams]),
    closeReplay: useCallback(() => setParams({}), [setParams]),
  }
}
