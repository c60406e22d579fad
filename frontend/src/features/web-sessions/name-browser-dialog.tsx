import { useForm } from 'react-hook-form'
import { useTranslation } from 'react-i18next'
import type { WebSession } from '@/api/types'
import { useNameWebSession } from '@/api/people/web-sessions'
import { ErrorState } from '@/ui/feedback/error-state'
import { Button } from '@/ui/form/button'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'
import { Dialog, DialogActions } from '@/ui/overlay/dialog'

const MAX_NAME = 100

export interface NameBrowserDialogProps {
  session: WebSession
  /** The name that the list shows for the browser now. */
  shownName: string
  onClose: () => void
}

export function NameBrowserDialog({ session, shownName, onClose }: NameBrowserDialogProps) {
  const { t } = useTranslation()
  const save = useNameWebSession()
  const { register, handleSubmit } = useForm({ defaultValues: { name: session.name ?? '' } })
  const submit = handleSubmit(({ name }) =>
    save.mutate({ id: session.id, name: name.trim() || null }, { onSuccess: onClose }),
  )
  return (
    <Dialog isOpen onOpenChange={onClose} title={t('browsers.rename_title', { name: shownName })}>
      <form onSubmit={(event) => void submit(event)}>
        <Field label={t('browsers.name')} hint={t('browsers.name_hint')}>
          {(control) => <Input {...control} autoComplete="off" maxLength={MAX_NAME} {...register('name')} />}
        </Field>
        {save.isError && <ErrorState error={save.error} title={t('browsers.rename_failed')} />}
        <DialogActions>
          <Button onClick={onClose}>{t('action.cancel')}</Button>
          <Button type="submit" variant="primary" isBusy={save.isPending}>
            {t('browsers.rename')}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  )
}
