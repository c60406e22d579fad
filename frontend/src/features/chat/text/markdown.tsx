import { lazy, Suspense } from 'react'

const MarkdownContent = lazy(() =>
  import('./markdown-content').then((module) => ({ default: module.MarkdownContent })),
)

/** Text of the agent. It is plain text until the Markdown renderer is loaded, which is not part of the first load. */
export function Markdown({ text }: { text: string }) {
  return (
    <Suspense fallback={<p className="wrap-anywhere whitespace-pre-wrap">{text}</p>}>
      <MarkdownContent text={text} />
    </Suspense>
  )
}
