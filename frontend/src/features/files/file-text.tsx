import { useMemo } from 'react'
import { languageOfPath, syntaxTree } from '@/lib/text/syntax'
import { toSpans } from '@/ui/text/highlighted-code'
import { ScrollPre } from '@/ui/text/scroll-pre'

/** Longer texts have no colours, because colouring them would stop the page for a moment. */
const COLOURED_CHARACTERS = 100_000

/** The lines of a text file with their numbers, and with colours if the language is known. */
export function FileText({ text, path }: { text: string; path: string }) {
  const lines = useMemo(() => lineNumbers(text), [text])
  const code = useMemo(() => {
    const language = text.length <= COLOURED_CHARACTERS ? languageOfPath(path) : undefined
    return language === undefined ? text : toSpans(syntaxTree(text, language))
  }, [text, path])
  return (
    <ScrollPre dir="ltr" className="flex min-h-0 flex-1 font-mono text-[0.8125rem] leading-relaxed">
      <span
        aria-hidden
        className="sticky left-0 h-max min-h-full border-r border-border bg-surface px-3 py-2 text-right text-faint select-none"
      >
        {lines}
      </span>
      <code className="h-max py-2 pr-6 pl-3">{code}</code>
    </ScrollPre>
  )
}

function lineNumbers(text: string): string {
  const count = text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
  return Array.from({ length: count }, (_, index) => index + 1).join('\n')
}
