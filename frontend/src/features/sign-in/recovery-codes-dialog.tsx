import { Check, Copy } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { toast } from 'sonner'
import { copyText } from '@/lib/browser/copy-text'
import { Button } from '@/ui/form/button'
import { Dialog, DialogActions } from '@/ui/overlay/dialog'

/** Shows the recovery codes. They are not shown again later. */
export function RecoveryCodesDialog({ codes, onClose }: { codes: string[]; onClose: () => void }) {
  const { t } = useTranslation()
  const [isCopied, setCopied] = useState(false)

  async function handleCopy() {
    const copied = await copyText(codes.join('\n'))
    setCopied(copied)
    if (!copied) toast.error(t('action.copy_failed'))
  }

  return (
    <Dialog isOpen onOpenChange={onClose} title={t('totp.codes_title')} description={t('totp.codes_text')}>
      <ul
        aria-label={t('totp.codes')}
        className="grid grid-cols-1 gap-x-6 gap-y-1 rounded-md border border-border bg-sunken p-4 font-mono text-sm sm:grid-cols-2"
      >
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ul>
      <DialogActions>
        <Button
          variant="primary"
          icon={isCopied ? <Check className="size-4" /> : <Copy className="size-4" />}
          onClick={() => void handleCopy()}
        >
          {isCopied ? t('action.copied') : t('totp.copy_codes')}
        </Button>
        <Button onClick={onClose}>{t('action.done')}</Button>
      </DialogActions>
    </Dialog>
  )
}
