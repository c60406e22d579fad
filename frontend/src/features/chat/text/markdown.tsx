import { lazy, Suspense } from 'react'

const MarkdownContent = lazy(() =>
  import('./markdown-content').then((module) => ({ default: module.MarkdownContent })),
)

/** Text of the agent. Reads as plain text until the markdown renderer, which is not part of the first load, is there. */
export function Markdown({ text }: { text: string }) {
  return (
    <Suspense fallback={<p className="wrap-anywhere whitespace-pre-wrap">{text}</p>}>
      <MarkdownContent text={text} />
    </Suspense>
  )
}
