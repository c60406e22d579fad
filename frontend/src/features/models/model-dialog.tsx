import { useTranslation } from 'react-i18next'
import { toast } from 'sonner'
import type { LLMProfile } from '@/api/types'
import { Dialog } from '@/ui/overlay/dialog'
import { ModelForm } from './model-form'

export interface ModelDialogProps {
  profile?: LLMProfile
  onClose: () => void
}

/** Adds a model, or edits `profile`. The dialog is open while it is mounted. */
export function ModelDialog({ profile, onClose }: ModelDialogProps) {
  const { t } = useTranslation()
  return (
    <Dialog
      isOpen
      onOpenChange={onClose}
      title={profile ? t('models.edit_title', { name: profile.name }) : t('models.add_title')}
      description={t('models.form_lead')}
      className="sm:max-w-2xl"
    >
      <ModelForm
        profile={profile}
        onCancel={onClose}
        onSaved={(name) => {
          toast.success(t('models.saved', { name }))
          onClose()
        }}
      />
    </Dialog>
  )
}
