import { ChevronRight } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { ScrollPre } from '@/ui/text/scroll-pre'
import { forPeople, type TextKind } from './model-text'
import { OutputBlock, type OutputBlockProps } from './output-block'

/** A tool's answer in words for people. If it differs from the original, the original can be opened. */
export function ToldBlock({ text, kind, ...block }: OutputBlockProps & { kind: TextKind }) {
  const { t } = useTranslation()
  const shown = forPeople(t, text, kind).trimEnd()
  return (
    <>
      {shown !== '' && <OutputBlock text={shown} {...block} />}
      <Original text={text} shown={shown} />
    </>
  )
}

/** The text that the agent was given, word for word. Shows nothing if people see the same text. */
export function Original({ text, shown }: { text: string; shown: string }) {
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
