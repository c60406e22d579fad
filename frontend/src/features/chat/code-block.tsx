import { Check, Copy } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { copyText } from '@/lib/copy-text'
import { IconButton } from '@/ui/icon-button'
import { ScrollPre } from '@/ui/scroll-pre'

export interface CodeBlockProps {
  text: string
  language: string | null
}

export function CodeBlock({ text, language }: CodeBlockProps) {
  return (
    <div className="group/code relative my-2">
      {language && <span className="eyebrow absolute top-2 right-11 opacity-70">{language}</span>}
      <CopyButton text={text} className="absolute top-0.5 right-0.5" />
      <ScrollPre className="rounded-lg border border-border bg-sunken p-3 pr-24 font-mono text-[0.8125rem] leading-relaxed">
        <code>{text}</code>
      </ScrollPre>
    </div>
  )
}

export function CopyButton({ text, className }: { text: string; className?: string }) {
  const { t } = useTranslation()
  const [isCopied, setIsCopied] = useState(false)
  return (
    <IconButton
      size="sm"
      className={className}
      label={t(isCopied ? 'chat.copied' : 'chat.copy')}
      icon={isCopied ? <Check aria-hidden className="size-3.5" /> : <Copy aria-hidden className="size-3.5" />}
      onClick={() => void copyText(text).then(setIsCopied)}
      onBlur={() => setIsCopied(false)}
    />
  )
}
