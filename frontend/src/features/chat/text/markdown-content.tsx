import { memo, type ReactNode } from 'react'
import ReactMarkdown, { type Components } from 'react-markdown'
import { useTranslation } from 'react-i18next'
import remarkGfm from 'remark-gfm'
import { InlineCode } from '@/ui/text/inline-code'
import { CodeBlock } from './code-block'

const PLUGINS = [remarkGfm]

/**
 * The components that render Markdown. Raw HTML stays text, and pictures become links, because text of an
 * agent must not make the browser call other hosts.
 */
const COMPONENTS: Components = {
  a: ({ href, children }) => <OutsideLink href={href}>{children}</OutsideLink>,
  img: ({ src, alt }) => (
    <OutsideLink href={typeof src === 'string' ? src : undefined}>{alt || String(src)}</OutsideLink>
  ),
  pre: ({ children }) => <>{children}</>,
  code: ({ className, children }) => <Code className={className} text={String(children)} />,
  p: ({ children }) => (
    <p dir="auto" className="my-2 first:mt-0 last:mb-0">
      {children}
    </p>
  ),
  ul: ({ children }) => (
    <ul dir="auto" className="my-2 list-disc space-y-1 ps-5">
      {children}
    </ul>
  ),
  ol: ({ children }) => (
    <ol dir="auto" className="my-2 list-decimal space-y-1 ps-5">
      {children}
    </ol>
  ),
  h1: ({ children }) => <h2 className="mt-4 mb-2 text-lg font-semibold first:mt-0">{children}</h2>,
  h2: ({ children }) => <h2 className="mt-4 mb-2 font-semibold first:mt-0">{children}</h2>,
  h3: ({ children }) => <h3 className="mt-3 mb-1 font-semibold first:mt-0">{children}</h3>,
  blockquote: ({ children }) => (
    <blockquote className="my-2 border-l-2 border-border-strong pl-3 text-muted">{children}</blockquote>
  ),
  hr: () => <hr className="my-4" />,
  table: ({ children }) => (
    <div className="my-2 overflow-x-auto">
      <table className="text-sm wrap-normal">{children}</table>
    </div>
  ),
  th: ({ children, style }) => (
    <th style={style} className="border border-border bg-sunken px-2 py-1 text-left font-medium">
      {children}
    </th>
  ),
  td: ({ children, style }) => (
    <td style={style} className="border border-border px-2 py-1 align-top">
      {children}
    </td>
  ),
  li: ({ className, children }) => (
    <li className={className?.includes('task-list-item') ? '-ms-5 list-none' : undefined}>{children}</li>
  ),
  input: ({ checked }) => <TaskBox isDone={checked === true} />,
}

export const MarkdownContent = memo(function MarkdownContent({ text }: { text: string }) {
  return (
    <div className="wrap-anywhere">
      <ReactMarkdown remarkPlugins={PLUGINS} components={COMPONENTS}>
        {text}
      </ReactMarkdown>
    </div>
  )
})

/** A checkbox of a task list. It is read-only, because ticking it would change nothing. */
function TaskBox({ isDone }: { isDone: boolean }) {
  const { t } = useTranslation()
  return (
    <input
      type="checkbox"
      checked={isDone}
      disabled
      aria-label={t(isDone ? 'tool.task_status.done' : 'tool.task_status.todo')}
      className="me-1.5 size-3.5 align-[-2px] accent-accent"
    />
  )
}

/** A link. If it has no address, only its text is shown. The renderer removes unsafe addresses. */
function OutsideLink({ href, children }: { href: string | undefined; children: ReactNode }) {
  if (!href) return <>{children}</>
  return (
    <a
      href={href}
      target="_blank"
      rel="noopener noreferrer nofollow"
      className="text-accent underline underline-offset-2"
    >
      {children}
    </a>
  )
}

function Code({ className, text }: { className: string | undefined; text: string }) {
  const language = /language-([\w+#-]+)/.exec(className ?? '')?.[1] ?? null
  const isBlock = language !== null || text.endsWith('\n')
  if (isBlock) return <CodeBlock text={text.replace(/\n$/, '')} language={language} />
  return <InlineCode>{text}</InlineCode>
}
