import { BellRing } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { waitsForUser } from '@/api/conversations/needs-you'
import type { AppConversation } from '@/api/types'
import { Badge } from '@/ui/feedback/badge'

/** A badge that says that the agent waits for the user. */
export function NeedsYouBadge({ conversation }: { conversation: AppConversation }) {
  const { t } = useTranslation()
  if (!waitsForUser(conversation)) return null
  return (
    <Badge tone="warning" icon={<BellRing aria-hidden />}>
      {t('needs_you.title')}
    </Badge>
  )
}
