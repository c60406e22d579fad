import type { FormEvent, ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { Button } from '@/ui/form/button'
import { Dialog, DialogActions } from '@/ui/overlay/dialog'
import { ErrorState } from '@/ui/feedback/error-state'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'

export interface FormDialogProps {
  title: string
  description?: string
  submitLabel: string
  isDangerous?: boolean
  isFilled: boolean
  isBusy: boolean
  error: unknown
  errorTitle: string
  onSubmit: () => void
  onClose: () => void
  children: ReactNode
}

/** A dialog with a form. It shows the error if the form could not be sent. */
export function FormDialog(props: FormDialogProps) {
  const { t } = useTranslation()
  function handleSubmit(event: FormEvent) {
    event.preventDefault()
    props.onSubmit()
  }
  return (
    <Dialog isOpen onOpenChange={props.onClose} title={props.title} description={props.description}>
      <form onSubmit={handleSubmit} noValidate>
        <div className="flex flex-col gap-4">
          {props.children}
          {Boolean(props.error) && <ErrorState error={props.error} title={props.errorTitle} />}
        </div>
        <DialogActions>
          <Button onClick={props.onClose}>{t('action.cancel')}</Button>
          <Button
            type="submit"
            variant={props.isDangerous ? 'danger' : 'primary'}
            isBusy={props.isBusy}
            disabled={!props.isFilled}
          >
            {props.submitLabel}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  )
}

interface OneFieldProps {
  value: string
  onChange: (value: string) => void
}

export function CurrentPasswordField({ value, onChange }: OneFieldProps) {
  const { t } = useTranslation()
  return (
    <Field label={t('password.current')}>
      {(ids) => (
        <Input
          {...ids}
          type="password"
          autoComplete="current-password"
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  )
}

export function CodeField({ value, onChange, hint }: OneFieldProps & { hint: string }) {
  const { t } = useTranslation()
  return (
    <Field label={t('password.code')} hint={hint}>
      {(ids) => (
        <Input
          {...ids}
          autoComplete="one-time-code"
          autoCapitalize="none"
          value={value}
          onChange={(event) => onChange(event.target.value)}
          className="font-mono"
        />
      )}
    </Field>
  )
}
