import { Pencil } from 'lucide-react'
import { useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { conversationTitle } from '@/api/conversations/conversation-title'
import { useRenameConversation } from '@/api/conversations/conversations'
import type { AppConversation } from '@/api/types'
import { useConversationStore } from '@/events/use-conversation'
import { Input } from '@/ui/form/input'

/** The title of the conversation. A click turns it into a field. Enter saves the text, and Escape cancels. */
export function EditableTitle({ conversation }: { conversation: AppConversation }) {
  const { t } = useTranslation()
  const store = useConversationStore()
  const rename = useRenameConversation()
  const [isEditing, setIsEditing] = useState(false)
  const isGivenUp = useRef(false)
  const shown = conversationTitle(t, rename.isPending ? rename.variables : conversation)

  function handleBlur(title: string) {
    setIsEditing(false)
    if (isGivenUp.current || title.trim() === '' || title.trim() === conversation.title) return
    rename.mutate(
      { id: conversation.id, title: title.trim() },
      { onSuccess: (renamed) => store.receive({ type: 'conversation', conversation: renamed }) },
    )
  }

  if (!isEditing) {
    return (
      <h1 className="min-w-0">
        <button
          type="button"
          title={t('chat.rename')}
          onClick={() => {
            isGivenUp.current = false
            setIsEditing(true)
          }}
          className="group flex max-w-full items-center gap-2 rounded-sm font-medium"
        >
          <span className="truncate">{shown}</span>
          <Pencil
            aria-hidden
            className="size-3 shrink-0 text-faint opacity-0 group-hover:opacity-100 group-focus-visible:opacity-100"
          />
        </button>
      </h1>
    )
  }
  return (
    <Input
      ref={(element) => element?.focus()}
      defaultValue={conversation.title ?? ''}
      maxLength={200}
      aria-label={t('chat.title')}
      className="h-8 max-w-md"
      onFocus={(event) => event.target.select()}
      onBlur={(event) => handleBlur(event.target.value)}
      onKeyDown={(event) => {
        if (event.key === 'Escape') {
          event.preventDefault()
          isGivenUp.current = true
        }
        if (event.key === 'Enter' || event.key === 'Escape') event.currentTarget.blur()
      }}
    />
  )
}
