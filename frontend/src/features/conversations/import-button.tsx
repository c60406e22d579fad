import { Upload } from 'lucide-react'
import { useRef, type ChangeEvent } from 'react'
import { useTranslation } from 'react-i18next'
import { useNavigate } from 'react-router'
import { useImportConversation } from '@/api/conversations/conversations'
import { Button } from '@/ui/form/button'

/** Imports a downloaded conversation and opens it. */
export function ImportButton() {
  const { t } = useTranslation()
  const navigate = useNavigate()
  const input = useRef<HTMLInputElement>(null)
  const upload = useImportConversation()
  function handleChange({ target }: ChangeEvent<HTMLInputElement>) {
    const file = target.files?.[0]
    // Without this, choosing the same file again would cause no event.
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
