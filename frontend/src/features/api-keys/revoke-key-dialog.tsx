import { useTranslation } from 'react-i18next'
import { toast } from 'sonner'
import { useRevokeApiKey } from '@/api/people/api-keys'
import type { ApiKey } from '@/api/types'
import { ConfirmDialog } from '@/ui/overlay/confirm-dialog'

export function RevokeKeyDialog({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const { t } = useTranslation()
  const revoke = useRevokeApiKey()
  function handleConfirm() {
    revoke.mutate(apiKey.id, {
      onSuccess: () => {
        toast.success(t('api_keys.revoked', { name: apiKey.name }))
        onClose()
      },
    })
  }
  return (
    <ConfirmDialog
      isOpen
      onOpenChange={onClose}
      title={t('api_keys.revoke_title', { name: apiKey.name })}
      description={t('api_keys.revoke_text')}
      confirmLabel={t('api_keys.revoke_confirm')}
      isBusy={revoke.isPending}
      onConfirm={handleConfirm}
    />
  )
}
