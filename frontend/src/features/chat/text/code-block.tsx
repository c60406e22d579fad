import clsx from 'clsx'
import { Check, Copy } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { copyText } from '@/lib/browser/copy-text'
import { IconButton } from '@/ui/form/icon-button'
import { HighlightedCode } from '@/ui/text/highlighted-code'
import { ScrollPre } from '@/ui/text/scroll-pre'

export interface CodeBlockProps {
  text: string
  language: string | null
  /**
   * Whether long lines are wrapped, so that all of the text is visible. This is needed for text that a user
   * must judge.
   */
  wraps?: boolean
}

export function CodeBlock({ text, language, wraps = false }: CodeBlockProps) {
  return (
    <div className="my-2 overflow-hidden rounded-lg border border-border bg-sunken">
      <div className="flex h-8 items-center justify-between border-b border-border pr-1 pl-3">
        <span className="eyebrow truncate">{language}</span>
        <CopyButton text={text} />
      </div>
      <ScrollPre
        dir="ltr"
        className={clsx(
          'p-3 font-mono text-[0.8125rem] leading-relaxed',
          wraps && 'wrap-anywhere whitespace-pre-wrap',
        )}
      >
        <HighlightedCode text={text} language={language} />
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
