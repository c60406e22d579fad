import { FileArchive, FileJson, FileText, FolderDown } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { useDownload } from '@/api/conversations/downloads'
import type { AppConversation } from '@/api/types'
import { MenuItem } from '@/ui/overlay/dropdown-menu'
import { canCopyFiles } from './copyable-files'
import { isSharedByOther } from './shared-badge'

/** The entries of the menu that save a conversation as a file. */
export function DownloadItems({ conversation }: { conversation: AppConversation }) {
  const { t } = useTranslation()
  const download = useDownload(conversation)
  return (
    <>
      <MenuItem
        icon={<FileText />}
        isDisabled={download.isPending}
        onSelect={() => download.mutate('markdown')}
      >
        {t('action.download_markdown')}
      </MenuItem>
      <MenuItem
        icon={<FileArchive />}
        isDisabled={download.isPending}
        onSelect={() => download.mutate('zip')}
      >
        {t('action.download_zip')}
      </MenuItem>
      <MenuItem icon={<FileJson />} isDisabled={download.isPending} onSelect={() => download.mutate('atif')}>
        {t('action.download_atif')}
      </MenuItem>
      {!isSharedByOther(conversation) && canCopyFiles(conversation) && (
        <MenuItem
          icon={<FolderDown />}
          isDisabled={download.isPending}
          onSelect={() => download.mutate('workspace')}
        >
          {t('action.download_workspace')}
        </MenuItem>
      )}
    </>
  )
}
