import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import type { AppConversation } from '@/api/types'
import { Notice } from '@/ui/notice'

/** The task begins in a sandbox that another conversation works in: which, and what that means. */
export function BesideNotice({ conversation }: { conversation: AppConversation }) {
  const { t } = useTranslation()
  const title = conversation.title || t('conversations.untitled')
  return (
    <Notice
      tone="neutral"
      title={t('home.beside', { title })}
      action={
        <Link to="/" className="shrink-0 text-accent hover:underline">
          {t('home.beside_leave')}
        </Link>
      }
    >
      {t('home.beside_meaning')}
    </Notice>
  )
}
