import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { useLocation, useNavigate } from 'react-router'
import { conversationTitle } from '@/api/conversations/conversation-title'
import { useNeedsYou } from '@/api/conversations/needs-you'
import type { AppConversation } from '@/api/types'
import { openUserStream } from '@/events/stream/user-stream'
import { notify } from '@/lib/browser/notifications'
import { useWaitingInTitle } from '@/lib/hooks/use-document-title'

/**
 * Keeps the lists up to date while it is mounted. Notifies the user when an agent begins to wait for the
 * user.
 */
export function useUserStream(): void {
  const { t } = useTranslation()
  const queryClient = useQueryClient()
  const navigate = useNavigate()
  const { pathname } = useLocation()
  useWaitingInTitle(useNeedsYou().length)

  const onNeedsYou = useRef<(conversation: AppConversation) => void>(() => undefined)
  useEffect(() => {
    onNeedsYou.current = (conversation) => {
      const path = `/conversations/${conversation.id}`
      // No notification is needed if the user is looking at the conversation.
      if (document.visibilityState === 'visible' && pathname === path) return
      notify(conversationTitle(t, conversation), {
        body: t(conversation.needs_you === 'answer' ? 'needs_you.answer' : 'needs_you.approval'),
        tag: conversation.id,
        onClick: () => void navigate(path),
      })
    }
  })
  useEffect(() => {
    const stream = openUserStream({
      queryClient,
      onNeedsYou: (conversation) => onNeedsYou.current(conversation),
    })
    return () => stream.close()
  }, [queryClient])
}
