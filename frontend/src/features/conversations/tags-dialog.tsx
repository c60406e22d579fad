import { useState, type FormEvent } from 'react'
import { useTranslation } from 'react-i18next'
import { useTagConversations } from '@/api/conversations/batch'
import { useSetTags } from '@/api/conversations/conversations'
import type { AppConversation } from '@/api/types'
import { parseTags, tagsText } from '@/lib/text/tags'
import { Button } from '@/ui/form/button'
import { Dialog, DialogActions } from '@/ui/overlay/dialog'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'

export interface TagsDialogProps {
  /**
   * If there is one conversation, its tags are edited. If there are several, each of them keeps its tags and
   * gets the new tags.
   */
  conversations: readonly AppConversation[]
  onClose: () => void
}

/** Adds tags to conversations. Can remove tags if there is only one conversation. */
export function TagsDialog({ conversations, onClose }: TagsDialogProps) {
  const { t } = useTranslation()
  const only = conversations.length === 1 ? conversations[0] : undefined
  const setTags = useSetTags(only?.id ?? '')
  const addTags = useTagConversations()
  const [text, setText] = useState(only ? tagsText(only.tags) : '')
  const [isWrong, setWrong] = useState(false)
  function handleSubmit(event: FormEvent) {
    event.preventDefault()
    const tags = parseTags(text)
    setWrong(tags === undefined)
    if (tags === undefined) return
    const done = { onSuccess: onClose }
    if (only) setTags.mutate(tags, done)
    else if (Object.keys(tags).length === 0) onClose()
    else addTags.mutate({ ids: conversations.map(({ id }) => id), tags }, done)
  }
  return (
    <Dialog
      isOpen
      onOpenChange={onClose}
      title={t(only ? 'tags.title' : 'tags.title_several', { count: conversations.length })}
    >
      <form onSubmit={handleSubmit}>
        <Field label={t('tags.label')} hint={t('tags.hint')} error={isWrong && t('tags.wrong')}>
          {(control) => (
            <Input
              {...control}
              value={text}
              placeholder={t('tags.placeholder')}
              onChange={(event) => setText(event.target.value)}
            />
          )}
        </Field>
        <DialogActions>
          <Button onClick={onClose}>{t('action.cancel')}</Button>
          <Button type="submit" variant="primary" isBusy={setTags.isPending || addTags.isPending}>
            {t('action.save')}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  )
}
