import { useForm } from 'react-hook-form'
import { useTranslation } from 'react-i18next'
import { useNavigate } from 'react-router'
import { conversationTitle } from '@/api/conversations/conversation-title'
import { useFork } from '@/api/conversations/forks'
import type { AppConversation } from '@/api/types'
import { Button } from '@/ui/form/button'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'
import { Dialog, DialogActions } from '@/ui/overlay/dialog'

const MAX_TITLE = 200

export interface ForkDialogProps {
  conversation: AppConversation
  /** The last event of the fork. If it is left out, all events are copied. */
  fromEventId?: string
  onClose: () => void
}

/** Explains what the fork will contain, asks for its title, and opens the fork. */
export function ForkDialog({ conversation, fromEventId, onClose }: ForkDialogProps) {
  const { t } = useTranslation()
  const navigate = useNavigate()
  const fork = useFork(conversation.id, (id) => {
    onClose()
    void navigate(`/conversations/${id}`)
  })
  const suggested = t('fork.suggested_title', { title: conversationTitle(t, conversation) })
  const { register, handleSubmit } = useForm({ defaultValues: { title: suggested.slice(0, MAX_TITLE) } })
  const submit = handleSubmit(({ title }) =>
    fork.mutate({ title: title.trim() || null, from_event_id: fromEventId ?? null }),
  )
  return (
    <Dialog
      isOpen
      onOpenChange={onClose}
      title={t('fork.title')}
      description={t(fromEventId === undefined ? 'fork.text' : 'fork.text_from_event')}
    >
      <form onSubmit={(event) => void submit(event)}>
        <p className="mb-4 text-sm text-muted">{t('fork.left_out')}</p>
        <Field label={t('conversations.rename_label')}>
          {(control) => <Input {...control} {...register('title')} maxLength={MAX_TITLE} />}
        </Field>
        <DialogActions>
          <Button onClick={onClose}>{t('action.cancel')}</Button>
          <Button type="submit" variant="primary" isBusy={fork.isPending}>
            {t('fork.confirm')}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  )
}
