import { Check, Copy } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { toast } from 'sonner'
import { copyText } from '@/lib/browser/copy-text'
import { IconButton } from '@/ui/form/icon-button'

interface CommandLineProps {
  command: string
  /** The prompt before the command. Null for a text that is not a command. */
  prompt?: string | null
}

/** A command to run in a terminal, with a button that copies it. */
export function CommandLine({ command, prompt = '$' }: CommandLineProps) {
  const { t } = useTranslation()
  const [isCopied, setCopied] = useState(false)

  async function handleCopy() {
    const copied = await copyText(command)
    setCopied(copied)
    if (!copied) toast.error(t('action.copy_failed'))
  }

  return (
    <div className="flex items-center gap-2 rounded-md border border-border bg-sunken py-0.5 pr-1 pl-3 font-mono text-sm">
      {prompt !== null && (
        <span aria-hidden className="text-faint select-none">
          {prompt}
        </span>
      )}
      <code className="min-w-0 flex-1 overflow-x-auto whitespace-nowrap">{command}</code>
      <IconButton
        label={isCopied ? t('action.copied') : t('action.copy')}
        size="sm"
        icon={isCopied ? <Check className="size-4 text-success" /> : <Copy className="size-4" />}
        onClick={() => void handleCopy()}
      />
    </div>
  )
}
