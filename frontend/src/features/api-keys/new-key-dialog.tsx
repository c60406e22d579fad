import { useTranslation } from 'react-i18next'
import type { CreatedApiKey } from '@/api/types'
import { CopyDialog } from '@/ui/overlay/copy-dialog'

/** Shows a new key. The key is not shown again later. */
export function NewKeyDialog({ created, onClose }: { created: CreatedApiKey; onClose: () => void }) {
  const { t } = useTranslation()
  return (
    <CopyDialog
      title={t('api_keys.show_title')}
      description={t('api_keys.show_text')}
      value={created.key}
      label={created.name}
      copyLabel={t('api_keys.copy_key')}
      onClose={onClose}
    />
  )
}
