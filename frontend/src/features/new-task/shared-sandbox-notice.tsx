import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { conversationTitle } from '@/api/conversations/conversation-title'
import type { AppConversation } from '@/api/types'
import { Notice } from '@/ui/feedback/notice'

/** Names the conversation whose sandbox the new task will share, and explains what that means. */
export function SharedSandboxNotice({ conversation }: { conversation: AppConversation }) {
  const { t } = useTranslation()
  const title = conversationTitle(t, conversation)
  return (
    <Notice tone="neutral" title={t('home.beside', { title })}>
      <p>{t('home.beside_meaning')}</p>
      <Link to="/" className="mt-1 inline-block text-accent hover:underline">
        {t('home.beside_leave')}
      </Link>
    </Notice>
  )
}
