import { ChevronRight } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { ScrollPre } from '@/ui/text/scroll-pre'
import { readableText, type TextKind } from './readable-text'
import { OutputBlock, type OutputBlockProps } from './output-block'

/** A tool's answer in words for people. If the agent got another text, the reader can open that text. */
export function ReadableBlock({ text, kind, ...block }: OutputBlockProps & { kind: TextKind }) {
  const { t } = useTranslation()
  const shown = readableText(t, text, kind).trimEnd()
  return (
    <>
      {shown !== '' && <OutputBlock text={shown} {...block} />}
      <OriginalText text={text} shown={shown} />
    </>
  )
}

/** The exact text that the agent got. Shows nothing if people see the same text. */
export function OriginalText({ text, shown }: { text: string; shown: string }) {
  const { t } = useTranslation()
  if (text.trimEnd() === shown.trimEnd()) return null
  return (
    <details className="group border-t border-border px-3 py-1.5 text-xs text-muted">
      <summary className="flex w-fit cursor-pointer items-center gap-1 rounded-sm hover:text-text">
        <ChevronRight aria-hidden className="size-3 transition-transform group-open:rotate-90" />
        {t('told.original')}
      </summary>
      <ScrollPre className="mt-1 max-h-96 font-mono leading-relaxed wrap-anywhere whitespace-pre-wrap">
        {text}
      </ScrollPre>
    </details>
  )
}
