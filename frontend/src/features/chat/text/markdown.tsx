import { lazy, Suspense } from 'react'

const MarkdownContent = lazy(() =>
  import('./markdown-content').then((module) => ({ default: module.MarkdownContent })),
)

/**
 * Text of the agent as Markdown. The renderer is loaded separately. Until then, the text is shown as plain
 * text.
 */
export function Markdown({ text }: { text: string }) {
  return (
    <Suspense fallback={<p className="wrap-anywhere whitespace-pre-wrap">{text}</p>}>
      <MarkdownContent text={text} />
    </Suspense>
  )
}
