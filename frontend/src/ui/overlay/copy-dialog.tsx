import { Check, Copy } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { toast } from 'sonner'
import { copyText } from '@/lib/browser/copy-text'
import { Button } from '@/ui/form/button'
import { Dialog, DialogActions } from './dialog'
import { Input } from '@/ui/form/input'

export interface CopyDialogProps {
  title: string
  description: string
  /** The text to copy. `label` is the name of the field that shows the text. */
  value: string
  label: string
  copyLabel: string
  onClose: () => void
}

/** Shows a text that the app server sends only once. A button copies the text. */
export function CopyDialog({ title, description, value, label, copyLabel, onClose }: CopyDialogProps) {
  const { t } = useTranslation()
  const [isCopied, setCopied] = useState(false)

  async function handleCopy() {
    const copied = await copyText(value)
    setCopied(copied)
    if (!copied) toast.error(t('action.copy_failed'))
  }

  return (
    <Dialog isOpen onOpenChange={onClose} title={title} description={description}>
      <Input
        readOnly
        aria-label={label}
        value={value}
        onFocus={(event) => event.target.select()}
        className="font-mono"
      />
      <DialogActions>
        <Button
          variant="primary"
          icon={isCopied ? <Check className="size-4" /> : <Copy className="size-4" />}
          onClick={() => void handleCopy()}
        >
          {isCopied ? t('action.copied') : copyLabel}
        </Button>
        <Button onClick={onClose}>{t('action.done')}</Button>
      </DialogActions>
    </Dialog>
  )
}
