import { Download } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import type { AppConversation } from '@/api/types'
import { DropdownMenu } from '@/ui/overlay/dropdown-menu'
import { IconButton } from '@/ui/form/icon-button'
import { DownloadItems } from './download-items'

/** Offers the ways to save a conversation as a file. */
export function DownloadButton({ conversation }: { conversation: AppConversation }) {
  const { t } = useTranslation()
  return (
    <DropdownMenu
      trigger={
        <IconButton
          size="sm"
          label={t('action.download')}
          hasTooltip={false}
          icon={<Download aria-hidden className="size-4" />}
        />
      }
    >
      <DownloadItems conversation={conversation} />
    </DropdownMenu>
  )
}
