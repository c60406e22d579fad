import { Upload } from 'lucide-react'
import { useRef, type ChangeEvent } from 'react'
import { useTranslation } from 'react-i18next'
import { useNavigate } from 'react-router'
import { useImportConversation } from '@/api/conversations/conversations'
import { Button } from '@/ui/form/button'

/** Makes a conversation from a downloaded one, and opens it. */
export function ImportButton() {
  const { t } = useTranslation()
  const navigate = useNavigate()
  const input = useRef<HTMLInputElement>(null)
  const upload = useImportConversation()
  function handleChange({ target }: ChangeEvent<HTMLInputElement>) {
    const file = target.files?.[0]
    // The same file can be chosen again.
    target.value = ''
    if (file) upload.mutate(file, { onSuccess: ({ id }) => void navigate(`/conversations/${id}`) })
  }
  return (
    <>
      <input
        ref={input}
        type="file"
        accept=".zip,application/zip"
        aria-label={t('conversations.import_hint')}
        className="hidden"
        onChange={handleChange}
      />
      <Button
        size="sm"
        title={t('conversations.import_hint')}
        icon={<Upload aria-hidden className="size-4" />}
        isBusy={upload.isPending}
        onClick={() => input.current?.click()}
      >
        {t('conversations.import')}
      </Button>
    </>
  )
}
