import { useForm } from 'react-hook-form'
import { useTranslation } from 'react-i18next'
import { useRenameConversation } from '@/api/conversations/conversations'
import type { AppConversation } from '@/api/types'
import { Button } from '@/ui/form/button'
import { Dialog, DialogActions } from '@/ui/overlay/dialog'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'

export function RenameDialog({
  conversation,
  onClose,
}: {
  conversation: AppConversation
  onClose: () => void
}) {
  const { t } = useTranslation()
  const rename = useRenameConversation()
  const { register, handleSubmit } = useForm({ defaultValues: { title: conversation.title ?? '' } })
  const submit = handleSubmit(({ title }) => {
    if (title.trim()) rename.mutate({ id: conversation.id, title: title.trim() }, { onSuccess: onClose })
  })
  return (
    <Dialog isOpen onOpenChange={onClose} title={t('conversations.rename_title')}>
      <form onSubmit={(event) => void submit(event)}>
        <Field label={t('conversations.rename_label')}>
          {(control) => <Input {...control} {...register('title')} />}
        </Field>
        <DialogActions>
          <Button onClick={onClose}>{t('action.cancel')}</Button>
          <Button type="submit" variant="primary" isBusy={rename.isPending}>
            {t('action.save')}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  )
}
