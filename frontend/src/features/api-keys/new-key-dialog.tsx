import { Check, Copy } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { toast } from 'sonner'
import type { CreatedApiKey } from '@/api/types'
import { copyText } from '@/lib/copy-text'
import { Button } from '@/ui/button'
import { Dialog, DialogActions } from '@/ui/dialog'
import { Input } from '@/ui/input'

/** The one time a key is shown. */
export function NewKeyDialog({ created, onClose }: { created: CreatedApiKey; onClose: () => void }) {
  const { t } = useTranslation()
  const [isCopied, setCopied] = useState(false)

  async function handleCopy() {
    const copied = await copyText(created.key)
    setCopied(copied)
    if (!copied) toast.error(t('action.copy_failed'))
  }

  return (
    <Dialog
      isOpen
      onOpenChange={onClose}
      title={t('api_keys.show_title')}
      description={t('api_keys.show_text')}
    >
      <Input
        readOnly
        aria-label={created.name}
        value={created.key}
        onFocus={(event) => event.target.select()}
        className="font-mono"
      />
      <DialogActions>
        <Button
          variant="primary"
          icon={isCopied ? <Check className="size-4" /> : <Copy className="size-4" />}
          onClick={() => void handleCopy()}
        >
          {isCopied ? t('action.copied') : t('api_keys.copy_key')}
        </Button>
        <Button onClick={onClose}>{t('action.done')}</Button>
      </DialogActions>
    </Dialog>
  )
}
