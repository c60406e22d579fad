import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { Button } from '@/ui/form/button'
import { Dialog, DialogActions } from './dialog'

export interface ConfirmDialogProps {
  isOpen: boolean
  onOpenChange: (isOpen: boolean) => void
  title: ReactNode
  description: ReactNode
  /** The verb of the action, and not "OK". */
  confirmLabel: string
  /** The label of the cancel button, if cancelling has an effect that the user must know. */
  cancelLabel?: string
  isBusy?: boolean
  onConfirm: () => void
}

/** Asks the user to confirm an action that cannot be undone. */
export function ConfirmDialog({
  confirmLabel,
  cancelLabel,
  isBusy,
  onConfirm,
  ...dialog
}: ConfirmDialogProps) {
  const { t } = useTranslation()
  return (
    <Dialog {...dialog} className="max-w-md">
      <DialogActions>
        <Button onClick={() => dialog.onOpenChange(false)}>{cancelLabel ?? t('action.cancel')}</Button>
        <Button variant="danger" isBusy={isBusy} onClick={onConfirm}>
          {confirmLabel}
        </Button>
      </DialogActions>
    </Dialog>
  )
}
