import { Check, Copy } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { toast } from 'sonner'
import type { TriggerWithSecret } from '@/api/automation/triggers'
import { copyText } from '@/lib/browser/copy-text'
import { Button } from '@/ui/form/button'
import { Dialog, DialogActions } from '@/ui/overlay/dialog'
import { Input } from '@/ui/form/input'

export interface SetUpDialogProps {
  trigger: TriggerWithSecret
  onClose: () => void
}

/**
 * The address and the secret of a new webhook, and the place where the user must enter them at the git host.
 */
export function SetUpDialog({ trigger, onClose }: SetUpDialogProps) {
  const { t } = useTranslation()
  const [user = '', password = ''] = splitOnce(trigger.secret)
  const secrets =
    trigger.git_provider === 'azure_devops'
      ? [
          { label: t('triggers.user_name'), value: user },
          { label: t('triggers.password'), value: password },
        ]
      : [{ label: t('triggers.secret'), value: trigger.secret }]
  return (
    <Dialog
      isOpen
      onOpenChange={onClose}
      title={t('triggers.set_up_title', { repository: trigger.repository })}
      description={t(`triggers.steps_${trigger.git_provider}`)}
    >
      <div className="flex flex-col gap-3">
        {[{ label: t('triggers.address'), value: trigger.url }, ...secrets].map(({ label, value }) => (
          <CopyField key={label} label={label} value={value} />
        ))}
        <p className="text-sm text-muted">{t('triggers.once')}</p>
      </div>
      <DialogActions>
        <Button variant="primary" onClick={onClose}>
          {t('action.done')}
        </Button>
      </DialogActions>
    </Dialog>
  )
}

function splitOnce(secret: string): string[] {
  const at = secret.indexOf(':')
  return [secret.slice(0, at), secret.slice(at + 1)]
}

function CopyField({ label, value }: { label: string; value: string }) {
  const { t } = useTranslation()
  const [isCopied, setCopied] = useState(false)

  async function handleCopy() {
    const copied = await copyText(value)
    setCopied(copied)
    if (!copied) toast.error(t('action.copy_failed'))
  }

  return (
    <div>
      <p className="mb-1.5 text-sm font-medium">{label}</p>
      <div className="flex gap-2">
        <Input
          readOnly
          aria-label={label}
          value={value}
          onFocus={(event) => event.target.select()}
          className="min-w-0 flex-1 font-mono"
        />
        <Button
          icon={isCopied ? <Check className="size-4" /> : <Copy className="size-4" />}
          aria-label={t('triggers.copy_named', { name: label })}
          onClick={() => void handleCopy()}
        >
          {t('action.copy')}
        </Button>
      </div>
    </div>
  )
}
