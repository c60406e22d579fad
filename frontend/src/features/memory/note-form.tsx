import { zodResolver } from '@hookform/resolvers/zod'
import { useForm } from 'react-hook-form'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import * as z from 'zod/mini'
import { useUpdateMemoryNote } from '@/api/agents/memory'
import type { MemoryNote } from '@/api/agents/memory-types'
import { Button } from '@/ui/form/button'
import { DialogActions } from '@/ui/overlay/dialog'
import { ErrorState } from '@/ui/feedback/error-state'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'
import { Textarea } from '@/ui/form/textarea'

const MAX_TITLE_CHARACTERS = 120
const MAX_TEXT_BYTES = 8 * 1024

const noteSchema = z.object({
  title: z.string().check(z.trim(), z.minLength(1), z.maxLength(MAX_TITLE_CHARACTERS)),
  text: z.string().check(
    z.trim(),
    z.minLength(1),
    z.refine((text) => new TextEncoder().encode(text).length <= MAX_TEXT_BYTES),
  ),
})

export interface NoteFormProps {
  note: MemoryNote
  onCancel: () => void
  onSaved: () => void
}

export function NoteForm({ note, onCancel, onSaved }: NoteFormProps) {
  const { t } = useTranslation()
  const update = useUpdateMemoryNote()
  const { register, handleSubmit, formState } = useForm({
    resolver: zodResolver(noteSchema),
    defaultValues: { title: note.title, text: note.text },
  })
  const submit = handleSubmit((values) => update.mutate({ id: note.id, ...values }, { onSuccess: onSaved }))
  return (
    <form onSubmit={(event) => void submit(event)} noValidate className="flex flex-col gap-4">
      <Field
        label={t('memory.note_title')}
        hint={t('memory.note_title_hint')}
        error={formState.errors.title && t('memory.title_invalid')}
      >
        {(control) => <Input {...control} {...register('title')} />}
      </Field>
      <Field label={t('memory.note_text')} error={formState.errors.text && t('memory.text_invalid')}>
        {(control) => <Textarea {...control} className="max-h-96 min-h-40 font-mono" {...register('text')} />}
      </Field>
      {note.conversation_id && (
        <Link
          to={`/conversations/${note.conversation_id}`}
          className="text-sm text-accent underline-offset-2 hover:underline"
        >
          {t('memory.conversation')}
        </Link>
      )}
      {update.isError && <ErrorState error={update.error} title={t('memory.save_failed')} />}
      <DialogActions>
        <Button onClick={onCancel}>{t('action.cancel')}</Button>
        <Button type="submit" variant="primary" isBusy={update.isPending}>
          {t('action.save')}
        </Button>
      </DialogActions>
    </form>
  )
}
